/* Reads small YAML texts as JSON. The only file that includes libyaml. */
#ifndef CAIRN_BASE_YAML_H
#define CAIRN_BASE_YAML_H

#include "base/buf.h"

enum { CAIRN_YAML_DEPTH_MAX = 16 };

/** Writes the first document of a YAML text as compact JSON, without a newline in it. Plain scalars are null, true,
 * false and numbers where the core schema of YAML 1.2 and JSON write them alike; all others are strings, even dates,
 * "yes" and "no". An empty document is null. Tags are ignored. Any thread.
 * @param out  limits the JSON; keeps an error
 * @param len  in bytes; limited by the caller, since the time grows with it
 * @return CAIRN_OK; CAIRN_E_FORMAT not YAML, has an alias or a key that is not a scalar, or nests deeper than
 *         CAIRN_YAML_DEPTH_MAX; CAIRN_E_LIMIT, CAIRN_E_NOMEM as in out */
CAIRN_MUST_USE enum cairn_status cairn_yaml_to_json(struct cairn_buf *out, const char *text, size_t len);

#endif
