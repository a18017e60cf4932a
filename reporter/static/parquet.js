// Writes a small Parquet file: optional columns of doubles and UTF-8 strings, plain encoding, one page each, no compression.
// Format: github.com/apache/parquet-format (parquet.thrift); the metadata are in Thrift's compact protocol.
"use strict";

const PARQUET = { DOUBLE: 5, BYTE_ARRAY: 6, OPTIONAL: 1, UTF8: 0, PLAIN: 0, RLE: 3 };
const THRIFT = { I32: 5, I64: 6, BINARY: 8, LIST: 9, STRUCT: 12 };

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}
const thriftInt = (value) => varint(value * 2); // zigzag encoding of a non-negative number
const thriftText = (text) => { const bytes = new TextEncoder().encode(text); return [...varint(bytes.length), ...bytes]; };
const i32 = (value) => ({ type: THRIFT.I32, bytes: thriftInt(value) });
const i64 = (value) => ({ type: THRIFT.I64, bytes: thriftInt(value) });
const text = (value) => ({ type: THRIFT.BINARY, bytes: thriftText(value) });
const list = (items) => ({
  type: THRIFT.LIST,
  bytes: [...(items.length < 15 ? [(items.length << 4) | items[0].type] : [0xf0 | items[0].type, ...varint(items.length)]), ...items.flatMap((item) => item.bytes)],
});
function struct(fields) { // {id: value}, ids ascending
  const bytes = [];
  let last = 0;
  for (const [id, value] of Object.entries(fields)) {
    bytes.push(((Number(id) - last) << 4) | value.type, ...value.bytes);
    last = Number(id);
  }
  return { type: THRIFT.STRUCT, bytes: [...bytes, 0] };
}

function little(count, write) {
  const view = new DataView(new ArrayBuffer(count));
  write(view);
  return [...new Uint8Array(view.buffer)];
}

function pageOf(column) {
  const levels = new Array(Math.ceil(column.values.length / 8)).fill(0);
  column.values.forEach((value, index) => { if (value !== null) levels[index >> 3] |= 1 << (index & 7); });
  const run = [...varint((levels.length << 1) | 1), ...levels];
  const size = (value) => little(4, (view) => view.setUint32(0, value, true));
  const values = column.values.filter((value) => value !== null).flatMap((value) => {
    if (column.isNumber) return little(8, (view) => view.setFloat64(0, value, true));
    const bytes = new TextEncoder().encode(value);
    return [...size(bytes.length), ...bytes];
  });
  const data = [...size(run.length), ...run, ...values];
  const header = struct({ 1: i32(0), 2: i32(data.length), 3: i32(data.length), 5: struct({ 1: i32(column.values.length), 2: i32(PARQUET.PLAIN), 3: i32(PARQUET.RLE), 4: i32(PARQUET.RLE) }) });
  return [...header.bytes, ...data];
}

function asParquet(columns, count) {
  const magic = [...new TextEncoder().encode("PAR1")], parts = [magic], chunks = [];
  let offset = 4;
  for (const column of columns) {
    const page = pageOf(column), type = column.isNumber ? PARQUET.DOUBLE : PARQUET.BYTE_ARRAY;
    const about = struct({ 1: i32(type), 2: list([i32(PARQUET.PLAIN), i32(PARQUET.RLE)]), 3: list([text(column.name)]), 4: i32(0), 5: i64(count), 6: i64(page.length), 7: i64(page.length), 9: i64(offset) });
    chunks.push(struct({ 2: i64(offset), 3: about }));
    parts.push(page);
    offset += page.length;
  }
  const leaves = columns.map((column) => struct(column.isNumber
    ? { 1: i32(PARQUET.DOUBLE), 3: i32(PARQUET.OPTIONAL), 4: text(column.name) }
    : { 1: i32(PARQUET.BYTE_ARRAY), 3: i32(PARQUET.OPTIONAL), 4: text(column.name), 6: i32(PARQUET.UTF8) }));
  const schema = list([struct({ 4: text("board"), 5: i32(columns.length) }), ...leaves]);
  const group = struct({ 1: list(chunks), 2: i64(offset - 4), 3: i64(count) });
  const footer = struct({ 1: i32(1), 2: schema, 3: i64(count), 4: list([group]), 6: text("edge training suite") }).bytes;
  parts.push(footer, little(4, (view) => view.setUint32(0, footer.length, true)), magic);
  return new Uint8Array(parts.flat());
}
