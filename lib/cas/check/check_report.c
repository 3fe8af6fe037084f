#include "cas/check/check_report.h"

const char *cairn_check_kind_name(enum cairn_check_kind kind)
{
	switch (kind) {
	case CAIRN_CHECK_XORB_LIST:
		return "xorb.list";
	case CAIRN_CHECK_XORB_UNREAD:
		return "xorb.unread";
	case CAIRN_CHECK_XORB_MISSING:
		return "xorb.missing";
	case CAIRN_CHECK_XORB_DAMAGED:
		return "xorb.damaged";
	case CAIRN_CHECK_FILE_HASH:
		return "file.hash";
	case CAIRN_CHECK_FILE_LOST:
		return "file.lost";
	case CAIRN_CHECK_OBJECT_ALONE:
		return "object.alone";
	case CAIRN_CHECK_INDEX_TREE:
		return "index.tree";
	case CAIRN_CHECK_INDEX_REFERENCE:
		return "index.reference";
	case CAIRN_CHECK_INDEX_OFFSETS:
		return "index.offsets";
	case CAIRN_CHECK_INDEX_LINK:
		return "index.link";
	case CAIRN_CHECK_INDEX_COUNT:
		return "index.count";
	case CAIRN_CHECK_INDEX_CONTENT:
		return "index.content";
	case CAIRN_CHECK_PACK:
		return "pack.damaged";
	}
	return "unknown";
}

bool cairn_check_kind_has_hash(enum cairn_check_kind kind)
{
	return kind < CAIRN_CHECK_INDEX_TREE;
}
