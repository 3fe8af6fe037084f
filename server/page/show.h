/* Formats sizes and times for people. Pure. */
#ifndef CAIRN_SERVER_PAGE_SHOW_H
#define CAIRN_SERVER_PAGE_SHOW_H

#include "base/buf.h"

enum { SHOW_BYTES = 32 };

/** Writes a size, such as "0 B", "651 B" or "4.9 GB", with powers of 1,000, as the hub's clients count. */
const char *show_size(char out[static SHOW_BYTES], uint64_t bytes);

/** Writes a number like "12,345". */
const char *show_count(char out[static SHOW_BYTES], uint64_t n);

/** Writes a time like "2026-11-03 14:05 UTC". */
const char *show_time(char out[static SHOW_BYTES], int64_t unix_s);

/** Appends a <time>: "just now", "5 min ago", "3 d ago"; after a month, the day. The exact time is its title. */
void show_age(struct cairn_buf *b, int64_t then_unix_s, int64_t now_unix_s);

/** Are the bytes UTF-8, without control characters other than text's? @param is_cut the last character may be cut */
bool show_is_text(const uint8_t *bytes, size_t len, bool is_cut);

#endif
