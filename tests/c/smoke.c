/* The C interface end to end: open a store, create a table, append through Arrow C data, scan, look up, compare.
   Prints a line for each failed check and at the end "N passed, N failed". */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice.h"

#define ROWS 1000
#define OK SLUICE_STATUS_OK

static int passed, failed;

static void check_at(int line, const char *what, bool good) {
  if (good) {
    passed++;
  } else {
    failed++;
    printf("line %d: %s (last error: %s)\n", line, what, sluice_last_error());
  }
}
#define CHECK(condition) check_at(__LINE__, #condition, condition)

/* ---- Arrow C data made by hand: a struct of id int64 and name utf8, NULL in every third name ---- */

static int released;

static void release_array(struct ArrowArray *array) {
  released++;
  for (int64_t i = 0; i < array->n_buffers; i++) free((void *)array->buffers[i]);
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->buffers);
  free(array->children);
  array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema) {
  released++;
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}

static struct ArrowArray *new_array(int64_t length, int64_t buffers, int64_t children) {
  struct ArrowArray *array = calloc(1, sizeof *array);
  array->length = length;
  array->n_buffers = buffers;
  array->n_children = children;
  array->buffers = calloc(buffers, sizeof(void *));
  array->children = children ? calloc(children, sizeof(void *)) : NULL;
  array->release = release_array;
  return array;
}

static struct ArrowSchema *new_schema(const char *format, const char *name, int64_t children) {
  struct ArrowSchema *schema = calloc(1, sizeof *schema);
  schema->format = format;
  schema->name = name;
  schema->flags = ARROW_FLAG_NULLABLE;
  schema->n_children = children;
  schema->children = children ? calloc(children, sizeof(void *)) : NULL;
  schema->release = release_schema;
  return schema;
}

static struct ArrowArray *id_array(int64_t rows) {
  struct ArrowArray *array = new_array(rows, 2, 0);
  int64_t *values = calloc(rows, sizeof *values);
  for (int64_t i = 0; i < rows; i++) values[i] = i;
  array->buffers[1] = values;
  return array;
}

static int name_of(int64_t row, char *text) { return sprintf(text, "name %" PRId64, row); }

static struct ArrowArray *name_array(int64_t rows) {
  struct ArrowArray *array = new_array(rows, 3, 0);
  uint8_t *validity = calloc(rows / 8 + 1, 1);
  int32_t *offsets = calloc(rows + 1, sizeof *offsets);
  char *bytes = calloc(rows, 32);
  for (int64_t i = 0; i < rows; i++) {
    int length = 0;
    if (i % 3) {
      length = name_of(i, bytes + offsets[i]);
      validity[i / 8] |= 1 << i % 8;
    }
    offsets[i + 1] = offsets[i] + length;
  }
  array->null_count = (rows + 2) / 3;
  array->buffers[0] = validity;
  array->buffers[1] = offsets;
  array->buffers[2] = bytes;
  return array;
}

static void rows_of(int64_t rows, struct ArrowArray *array, struct ArrowSchema *schema) {
  struct ArrowArray *columns = new_array(rows, 1, 2);
  columns->children[0] = id_array(rows);
  columns->children[1] = name_array(rows);
  *array = *columns;
  free(columns);
  struct ArrowSchema *types = new_schema("+s", "", 2);
  types->children[0] = new_schema("l", "id", 0);
  types->children[1] = new_schema("u", "name", 0);
  *schema = *types;
  free(types);
}

/* ---- the steps ---- */

static int64_t number_after(const char *json, const char *key) {
  const char *at = strstr(json, key);
  return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static int64_t create_table(int64_t connection) {
  char *answer = NULL;
  CHECK(sluice_admin(connection, "create_database", "{\"name\":\"d\",\"descriptor\":{},\"ignore_if_exists\":true}", &answer) == OK);
  CHECK(answer && strcmp(answer, "null") == 0);
  sluice_string_free(answer);
  const char *table =
      "{\"path\":{\"database\":\"d\",\"table\":\"t\"},\"ignore_if_exists\":false,\"descriptor\":{\"bucket_count\":1,\"schema\":{\"columns\":["
      "{\"name\":\"id\",\"data_type\":{\"type\":\"BIGINT\",\"nullable\":false}},{\"name\":\"name\",\"data_type\":{\"type\":\"STRING\"}}],"
      "\"primary_key\":[\"id\"]}}}";
  answer = NULL;
  CHECK(sluice_admin(connection, "create_table", table, &answer) == OK);
  sluice_string_free(answer);
  answer = NULL;
  CHECK(sluice_admin(connection, "create_table", table, &answer) == SLUICE_STATUS_ALREADY_EXISTS);
  CHECK(answer == NULL && strstr(sluice_last_error(), "d.t") && sluice_last_error_subject() == 3);
  CHECK(sluice_admin(connection, "table", "{\"path\":{\"database\":\"d\",\"table\":\"t\"}}", &answer) == OK);
  int64_t id = number_after(answer, "\"table_id\":");
  sluice_string_free(answer);
  return id;
}

static void append(int64_t connection) {
  int64_t writer = 0;
  struct ArrowArray array;
  struct ArrowSchema schema;
  CHECK(sluice_writer_open(connection, "{\"path\":{\"database\":\"d\",\"table\":\"t\"}}", &writer) == OK);
  rows_of(ROWS, &array, &schema);
  CHECK(sluice_writer_append(writer, &array, &schema, NULL) == OK);
  CHECK(array.release == NULL && schema.release == NULL);
  CHECK(sluice_writer_flush(writer, 30000) == OK);

  /* Taken and released even when the call fails. */
  released = 0;
  rows_of(5, &array, &schema);
  schema.children[0]->format = "i";
  CHECK(sluice_writer_append(writer, &array, &schema, NULL) == SLUICE_STATUS_INVALID);
  CHECK(strstr(sluice_last_error(), "'id'") && array.release == NULL && schema.release == NULL && released == 6);
  rows_of(5, &array, &schema);
  uint8_t kinds[5] = {0, 0, 9, 0, 0};
  CHECK(sluice_writer_append(writer, &array, &schema, kinds) == SLUICE_STATUS_INVALID && strstr(sluice_last_error(), "9"));
  CHECK(sluice_writer_append(writer, NULL, NULL, NULL) == SLUICE_STATUS_INVALID);

  /* Deletes id 0. */
  rows_of(1, &array, &schema);
  kinds[0] = 3;
  CHECK(sluice_writer_append(writer, &array, &schema, kinds) == OK);
  CHECK(sluice_writer_flush(writer, 30000) == OK);
  CHECK(sluice_close(writer) == OK && sluice_close(writer) == OK);
  CHECK(sluice_writer_flush(writer, 1) == SLUICE_STATUS_CLOSED);
}

static int rows_differ(const struct ArrowArray *array, int64_t first) {
  const int64_t *ids = (const int64_t *)array->children[0]->buffers[1] + array->children[0]->offset;
  const struct ArrowArray *names = array->children[1];
  const uint8_t *validity = names->buffers[0];
  const int32_t *offsets = (const int32_t *)names->buffers[1] + names->offset;
  const char *bytes = names->buffers[2];
  int wrong = 0;
  for (int64_t i = 0; i < array->length; i++) {
    int64_t row = (first + i) % ROWS, at = names->offset + i;
    char text[32];
    bool null = validity && !(validity[at / 8] >> at % 8 & 1);
    int length = row % 3 ? name_of(row, text) : 0;
    bool same = null ? row % 3 == 0 : offsets[i + 1] - offsets[i] == length && memcmp(bytes + offsets[i], text, length) == 0;
    wrong += ids[i] != row || null != (row % 3 == 0) || !same;
  }
  return wrong;
}

static void scan(int64_t connection, int64_t table) {
  int64_t scanner = 0, rows = 0, deletes = 0;
  char split[256];
  CHECK(sluice_scanner_open(connection, "{\"path\":{\"database\":\"d\",\"table\":\"t\"},\"batch_rows_max\":300}", &scanner) == OK);
  sprintf(split,
          "{\"id\":4,\"bucket\":{\"table_id\":%" PRId64 ",\"partition_id\":null,\"bucket\":0},\"start\":{\"log\":{\"offset\":0}},\"stop\":%d}",
          table, ROWS + 1);
  CHECK(sluice_scanner_subscribe(scanner, split) == OK);
  for (bool finished = false; !finished;) {
    struct ArrowArray array, kinds;
    struct ArrowSchema schema;
    SluiceBatch batch;
    if (sluice_scanner_poll(scanner, 30000, &batch, &array, &schema, &kinds) != OK || !batch.present) {
      CHECK(!"poll gives rows");
      break;
    }
    finished = batch.finished;
    CHECK(batch.split == 4 && batch.rows == array.length && batch.rows <= 300 && strcmp(schema.format, "+s") == 0);
    CHECK(batch.rows == 0 || (batch.base_offset == rows && batch.next == rows + batch.rows && !batch.next_is_snapshot));
    CHECK(rows_differ(&array, rows) == 0);
    for (int64_t i = 0; kinds.release && i < kinds.length; i++) deletes += ((const uint8_t *)kinds.buffers[1])[i] == 3;
    rows += batch.rows;
    array.release(&array);
    schema.release(&schema);
    if (kinds.release) kinds.release(&kinds);
  }
  CHECK(rows == ROWS + 1 && deletes == 1);
  CHECK(sluice_close(scanner) == OK);
}

static void look_up(int64_t connection) {
  int64_t lookup = 0;
  uint32_t ends[10];
  struct ArrowArray keys, found;
  struct ArrowSchema types, schema;
  CHECK(sluice_lookup_open(connection, "{\"path\":{\"database\":\"d\",\"table\":\"t\"},\"key_columns\":[\"id\"],\"projection\":null}", &lookup) == OK);
  struct ArrowArray *columns = new_array(10, 1, 1);
  columns->children[0] = id_array(10);
  keys = *columns;
  free(columns);
  struct ArrowSchema *names = new_schema("+s", "", 1);
  names->children[0] = new_schema("l", "id", 0);
  types = *names;
  free(names);
  CHECK(sluice_lookup(lookup, &keys, &types, &found, &schema, ends) == OK);
  CHECK(found.length == 9 && ends[0] == 0 && ends[1] == 1 && ends[9] == 9); /* id 0 was deleted */
  CHECK(rows_differ(&found, 1) == 0);
  found.release(&found);
  schema.release(&schema);
  CHECK(sluice_close(lookup) == OK);
}

static void *poll_for_long(void *scanner) {
  struct ArrowArray array, kinds;
  struct ArrowSchema schema;
  SluiceBatch batch;
  SluiceStatus status = sluice_scanner_poll(*(int64_t *)scanner, 60000, &batch, &array, &schema, &kinds);
  return (void *)(intptr_t)(status == OK && !batch.present);
}

static void wake(int64_t connection) {
  int64_t scanner = 0;
  pthread_t thread;
  void *ended = NULL;
  CHECK(sluice_scanner_open(connection, "{\"path\":{\"database\":\"d\",\"table\":\"t\"}}", &scanner) == OK);
  pthread_create(&thread, NULL, poll_for_long, &scanner);
  CHECK(sluice_scanner_wake(scanner) == OK);
  pthread_join(thread, &ended);
  CHECK(ended != NULL);
}

static void refusals(void) {
  int64_t connection = 0;
  CHECK(sluice_open(NULL, &connection) == SLUICE_STATUS_INVALID && strstr(sluice_last_error(), "options"));
  CHECK(sluice_open("{", &connection) == SLUICE_STATUS_INVALID);
  CHECK(sluice_open("{\"bootstrap.servers\":\"h:port\"}", &connection) == SLUICE_STATUS_INVALID && sluice_last_error_subject() == 7);
  CHECK(connection == 0);
  CHECK(sluice_close(0) == OK && sluice_close(-5) == OK);
  CHECK(sluice_scanner_poll(77, 1, NULL, NULL, NULL, NULL) == SLUICE_STATUS_INVALID);
  CHECK(sluice_scanner_wake(77) == SLUICE_STATUS_CLOSED);
  sluice_string_free(NULL);
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: smoke DIRECTORY\n");
    return 2;
  }
  char options[4200];
  int64_t connection = 0;
  refusals();
  snprintf(options, sizeof options, "{\"bootstrap.servers\":\"embedded:%s\"}", arguments[1]);
  CHECK(sluice_open(options, &connection) == OK);
  int64_t table = create_table(connection);
  CHECK(table >= 0);
  append(connection);
  scan(connection, table);
  look_up(connection);
  wake(connection);
  CHECK(sluice_close(connection) == OK);
  CHECK(sluice_live_handles() == 0);

  /* What was written is there after opening again. */
  CHECK(sluice_open(options, &connection) == OK);
  scan(connection, table);
  look_up(connection);
  CHECK(sluice_close(connection) == OK);
  CHECK(sluice_live_handles() == 0);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
