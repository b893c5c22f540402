/* The C interface of Sluice, the same engine that Java loads. Generated from native/jni/src/capi.rs: do not edit;
   write it anew with  SLUICE_BLESS=1 cargo test -p sluice-jni --test header

   Handles are numbers. One that was given back is answered with SLUICE_STATUS_CLOSED, never with a crash.
   Every call may come from any thread; a writer serves one at a time and a scanner one poll at a time.
   The JSON texts are those of docs/jni.md. */

#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The structures of the Arrow C data interface, https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */


// How a call ended. The errors are the kinds of error of the engine.
enum SluiceStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It did what was asked.
  SLUICE_STATUS_OK = 0,
  // The request is wrong; change it.
  SLUICE_STATUS_INVALID = 1,
  // The named thing does not exist.
  SLUICE_STATUS_NOT_FOUND = 2,
  // The named thing exists already.
  SLUICE_STATUS_ALREADY_EXISTS = 3,
  // The request does not fit the present state.
  SLUICE_STATUS_CONFLICT = 4,
  // Not now; the same call may succeed later.
  SLUICE_STATUS_BUSY = 5,
  // The caller may not do this.
  SLUICE_STATUS_UNAUTHORIZED = 6,
  // Somebody newer has taken over; stop.
  SLUICE_STATUS_FENCED = 7,
  // Stored bytes are damaged.
  SLUICE_STATUS_CORRUPT = 8,
  // The operating system refused.
  SLUICE_STATUS_IO = 9,
  // This version cannot do it.
  SLUICE_STATUS_UNSUPPORTED = 10,
  // A defect of the engine.
  SLUICE_STATUS_INTERNAL = 11,
  // The handle was closed.
  SLUICE_STATUS_CLOSED = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SluiceStatus SluiceStatus;
#else
typedef int32_t SluiceStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What was polled besides the rows themselves.
typedef struct SluiceBatch {
  // Number of rows.
  int64_t rows;
  // Log offset of the first row, the others follow it one by one; -1 for rows of a snapshot.
  int64_t base_offset;
  // Where to go on: a log offset, or with `next_is_snapshot` the number of snapshot rows read so far.
  int64_t next;
  // Commit time in ms since 1970; -1 for rows of a snapshot.
  int64_t timestamp_ms;
  // The split's number.
  uint32_t split;
  // Whether anything was polled. If not, nothing else here means anything and no structure was written.
  bool present;
  // Whether the split ends with this batch, which may have no rows.
  bool finished;
  // What `next` counts.
  bool next_is_snapshot;
} SluiceBatch;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Message of this thread's last failed call; good until its next failed call. Never null.
const char *sluice_last_error(void);

// What this thread's last failed call was about, as a number: 0 nothing in particular, 1 store, 2 database, 3 table, 4 partition, 5 bucket,
// 6 column, 7 option, 8 row, 9 offset, 10 snapshot, 11 writer, 12 file, 13 disk.
int32_t sluice_last_error_subject(void);

// Opens a store; give the handle back with `sluice_close`. `options` is JSON: {"bootstrap.servers":"embedded:/directory", ...}.
//
// # Safety
// `options` is a string that ends in a zero byte, `connection` good for writing.
SluiceStatus sluice_open(const char *options, int64_t *connection);

// Gives any handle back; with a connection all that was made from it. Zero and a handle already given back are no errors.
SluiceStatus sluice_close(int64_t handle);

// Runs an admin operation of docs/jni.md. Its answer is JSON; free it with `sluice_string_free`.
//
// # Safety
// `operation` and `arguments` are strings that end in a zero byte, `answer` is good for writing.
SluiceStatus sluice_admin(int64_t connection, const char *operation, const char *arguments, char **answer);

// Frees a string that the library gave; null is no error.
//
// # Safety
// `string` is null or came from this library and was not freed.
void sluice_string_free(char *string);

// Opens a writer: {"path":{"database","table"},"target_columns":[names],"overwrite":bool}.
//
// # Safety
// `arguments` is a string that ends in a zero byte, `writer` good for writing.
SluiceStatus sluice_writer_open(int64_t connection, const char *arguments, int64_t *writer);

// Hands rows over: a struct array with one child for each column to be written, in order. `kinds` is null when all rows are inserts, else
// one byte a row: 0 insert, 1 update before, 2 update after, 3 delete. Both structures are taken, whatever the outcome.
//
// # Safety
// `array` and `schema` are valid structures of the Arrow C data interface; `kinds` is null or as long as the array.
SluiceStatus sluice_writer_append(int64_t writer,
                                  struct ArrowArray *array,
                                  struct ArrowSchema *schema,
                                  const uint8_t *kinds);

// Waits until all rows handed over are durable and visible. `SLUICE_STATUS_BUSY` when the time passes first.
SluiceStatus sluice_writer_flush(int64_t writer, int64_t timeout_ms);

// Opens a scanner without splits: {"path","projection":[int]|null,"batch_rows_max":n}.
//
// # Safety
// `arguments` is a string that ends in a zero byte, `scanner` good for writing.
SluiceStatus sluice_scanner_open(int64_t connection, const char *arguments, int64_t *scanner);

// Adds a split: {"id","bucket":{"table_id","partition_id":null,"bucket"},"start":START,"stop":n|null}, see docs/jni.md.
//
// # Safety
// `split` is a string that ends in a zero byte.
SluiceStatus sluice_scanner_subscribe(int64_t scanner, const char *split);

// Removes a split; an unknown one is no error.
SluiceStatus sluice_scanner_unsubscribe(int64_t scanner, uint32_t split);

// Waits up to `timeout_ms` for rows. If `batch->present` becomes true, `array` and `schema` hold a struct array of the wanted columns, and `kinds` a uint8
// array with the kind of each row; its `release` is null when all rows are inserts. The caller releases all three.
//
// # Safety
// All pointers are good for writing; the structures behind them are uninitialised or released.
SluiceStatus sluice_scanner_poll(int64_t scanner,
                                 int64_t timeout_ms,
                                 struct SluiceBatch *batch,
                                 struct ArrowArray *array,
                                 struct ArrowSchema *schema,
                                 struct ArrowArray *kinds);

// Makes the running or the next poll return at once.
SluiceStatus sluice_scanner_wake(int64_t scanner);

// Opens a lookup: {"path","key_columns":[names],"projection":[int]|null}.
//
// # Safety
// `arguments` is a string that ends in a zero byte, `lookup` good for writing.
SluiceStatus sluice_lookup_open(int64_t connection, const char *arguments, int64_t *lookup);

// Looks keys up: `keys` and `keys_schema` are a struct array of the key columns and are taken; `array` and `schema` receive the rows found, those of the
// first key first; `ends` receives for each key the end (exclusive) of its rows and has room for as many as there are keys.
//
// # Safety
// The first two are valid structures; the others are good for writing, their structures uninitialised or released.
SluiceStatus sluice_lookup(int64_t lookup,
                           struct ArrowArray *keys,
                           struct ArrowSchema *keys_schema,
                           struct ArrowArray *array,
                           struct ArrowSchema *schema,
                           uint32_t *ends);

// Bytes that the engine has allocated in this process. RocksDB's own memory is not in it.
int64_t sluice_allocated_bytes(void);

// How many handles are open in this process.
int64_t sluice_live_handles(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SLUICE_H */
