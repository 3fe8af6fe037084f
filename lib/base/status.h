/* Status codes, and the diagnosis of an error. Independent of Xet. */
#ifndef CAIRN_BASE_STATUS_H
#define CAIRN_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAIRN_MUST_USE         __attribute__((warn_unused_result))
#define CAIRN_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
/* Runs fn(&variable) when the variable goes out of scope: the only clean-up idiom of the project. Functions named
 * _freep or _fini are made for it. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/** The result of a call that can fail. Each header lists all codes of a function, in its comment or at the head for
 * functions that share a list. A caller may switch on them. Expected outcomes ("already stored") are results in out
 * parameters, not errors. */
enum cairn_status {
	CAIRN_OK = 0,
	CAIRN_E_NOMEM = -1,     /* out of memory */
	CAIRN_E_IO = -2,        /* the disk, the database or a socket failed; a retry may help */
	CAIRN_E_FORMAT = -3,    /* the bytes are not of the format they claim */
	CAIRN_E_LIMIT = -4,     /* over a documented limit */
	CAIRN_E_MISMATCH = -5,  /* well-formed, but a hash or a sum does not agree */
	CAIRN_E_NOT_FOUND = -6, /* the named thing does not exist */
	CAIRN_E_CONFLICT = -7,  /* contradicts stored data, or data it relied on was removed */
	CAIRN_E_USAGE = -8,     /* wrong arguments or configuration of the caller */
	CAIRN_E_FULL = -9,      /* no space left, or the reserve is reached */
	CAIRN_E_BUSY = -10,     /* a queue or budget is full; try again later */
	CAIRN_E_DENIED = -11,   /* a credential is missing, wrong, expired or too narrow */
	CAIRN_E_DAMAGED = -12,  /* a row of the index is malformed */
};

/** Returns a short English name ("format", "not found", ...), never NULL. */
const char *cairn_status_name(enum cairn_status status);

/** The reason for an error: the rule, the place and the two values that disagree. The caller owns it, so that no text
 * of another request can appear. Every function with a diag parameter accepts NULL. */
struct cairn_diag {
	const char *rule;  /* static, stable, machine-readable ("shard.range_hash"); NULL: empty */
	bool has_offset;   /* offset is meaningful */
	uint64_t offset;   /* byte offset in the upload */
	char text[256];    /* for people: the fault, and what to change */
	char expected[80]; /* value that the rule requires; empty: none */
	char actual[80];   /* value that was found; empty: none */
};

/** Empties a diagnosis. Faster than zeroing it for each request. */
static inline void cairn_diag_clear(struct cairn_diag *diag)
{
	diag->rule = NULL;
	diag->has_offset = false;
	diag->offset = 0;
	diag->text[0] = diag->expected[0] = diag->actual[0] = '\0';
}

/** Offset argument of cairn_fail() for "no particular place". */
#define CAIRN_NO_OFFSET UINT64_MAX

/** Records an error and returns its status, so that a check is one statement:
 *     return cairn_fail(diag, CAIRN_E_FORMAT, "shard.version", 32, "header version is not supported");
 * Keeps a diagnosis that is already set: the first error counts. @return status */
enum cairn_status cairn_fail(struct cairn_diag *diag, enum cairn_status status, const char *rule, uint64_t offset,
			     const char *fmt, ...) CAIRN_PRINTF(5, 6);

/** Does a diag report an error by this rule? @param diag  NULL or empty: false */
bool cairn_diag_has(const struct cairn_diag *diag, const char *rule);

/** Adds the two values to a diagnosis, cut to the size of their fields. Does nothing if diag is NULL. */
void cairn_diag_values(struct cairn_diag *diag, const char *expected, const char *actual);

/** Adds two numbers as the values. */
void cairn_diag_numbers(struct cairn_diag *diag, uint64_t expected, uint64_t actual);

#endif
