// Executes a known number of instructions in user mode: waits for a byte, loops LOOPS times, answers with a byte, waits for another.
// Between the return of the first read and the entry of the write: 2 * LOOPS + BESIDE instructions (proofs/box/counting.py).
#define LOOPS 10000000
    .global _start
_start:
    bl      read
    ldr     x9, =LOOPS
1:  subs    x9, x9, #1
    b.ne    1b
    mov     x0, #1
    adr     x1, byte
    mov     x2, #1
    mov     x8, #64         // write
    svc     #0
    bl      read
    mov     x0, #0
    mov     x8, #93         // exit
    svc     #0
read:
    mov     x0, #0
    adr     x1, byte
    mov     x2, #1
    mov     x8, #63         // read
    svc     #0
    ret
    .ltorg
    .data
byte: .byte 0
