"""Student and teacher: the camera, the tracks and the two processes of `suite viewpoint`, for every
implementation of the checkout."""
