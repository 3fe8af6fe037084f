#include "server/http/errors.h"

#include <string.h>

struct errors_reply errors_of_status(enum cairn_status status, bool upload)
{
	switch (status) {
	case CAIRN_OK:
		break;
	case CAIRN_E_NOMEM:
		return (struct errors_reply){503, "no_memory", "the server is out of memory; try again later"};
	case CAIRN_E_IO:
	case CAIRN_E_DAMAGED: /* the caller is told the same: only fsck distinguishes damaged from lost */
		return (struct errors_reply){500, "io", "the server's disk or database failed; try again later"};
	case CAIRN_E_FORMAT:
		return (struct errors_reply){400, "format", "the bytes do not have the format that they claim"};
	case CAIRN_E_LIMIT:
		return (struct errors_reply){413, "limit", "the upload is over a limit of this server"};
	case CAIRN_E_MISMATCH:
		return (struct errors_reply){400, "mismatch", "a hash or a sum of the upload does not agree"};
	case CAIRN_E_NOT_FOUND:
		if (upload)
			return (struct errors_reply){400, "reference",
						     "the upload refers to something that is not stored here"};
		return (struct errors_reply){404, "not_found", "the requested object is not stored here"};
	case CAIRN_E_CONFLICT:
		return (struct errors_reply){409, "conflict", "the upload contradicts what is stored"};
	case CAIRN_E_USAGE:
		return (struct errors_reply){400, "usage", "the request's arguments are not valid"};
	case CAIRN_E_FULL:
		return (struct errors_reply){507, "full", "the server has no space left"};
	case CAIRN_E_BUSY:
		return (struct errors_reply){503, "busy", "the server is busy; try again in a few seconds"};
	case CAIRN_E_DENIED:
		return (struct errors_reply){403, "denied", "the credential does not permit this"};
	}
	return (struct errors_reply){500, "internal",
				     "the server failed to answer; this is a bug of the server: "
				     "report it with the request's id"};
}

struct errors_reply errors_of_failure(enum cairn_status status, const char *rule, bool upload)
{
	if (status == CAIRN_E_DAMAGED && rule && strncmp(rule, "object.", strlen("object.")) == 0)
		return (struct errors_reply){410, "object.damaged", "the stored bytes are not what was uploaded"};
	return errors_of_status(status, upload);
}

const char *errors_reason(unsigned code)
{
	switch (code) {
	case 400:
		return "Bad Request";
	case 408:
		return "Request Timeout";
	case 409:
		return "Conflict";
	case 413:
		return "Content Too Large";
	case 500:
		return "Internal Server Error";
	case 503:
		return "Service Unavailable";
	case 507:
		return "Insufficient Storage";
	default:
		return "Error";
	}
}
