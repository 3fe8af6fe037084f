/* Prints records of a file field by field, in the same way for people and for programs. */
#ifndef CAIRN_CLI_RECORD_H
#define CAIRN_CLI_RECORD_H

#include "cli/common/report.h"

/** Begins a record: "kind @offset name=value", or {"record":kind,"offset":..,"name":value}. depth indents the line. */
void record_begin(struct report *r, unsigned depth, const char *kind, uint64_t offset);
void record_u64(struct report *r, const char *name, uint64_t value);
/** Write flags and bytes in hexadecimal. */
void record_flags(struct report *r, const char *name, uint32_t value);
void record_hash(struct report *r, const char *name, const struct cairn_hash *hash);
void record_hex(struct report *r, const char *name, const uint8_t *bytes, size_t n);
void record_text(struct report *r, const char *name, const char *text);
void record_end(struct report *r);

#endif
