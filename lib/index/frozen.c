#include "index/transfer.h"

const char *cairn_index_frozen_words(enum cairn_index_frozen frozen)
{
	switch (frozen) {
	case CAIRN_INDEX_THAWED:
		break;
	case CAIRN_INDEX_FILLING:
		return "is being filled by cairn migrate-store, which is to be run again with --finish";
	case CAIRN_INDEX_MOVED:
		return "was moved to another one by cairn migrate-store --finish; use that one, or if that one is lost, run "
		       "cairn migrate-store --reopen";
	}
	return "";
}
