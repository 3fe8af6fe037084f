#include "index/tables.h"

#define KEY(name)                                                                                                      \
	{                                                                                                              \
		name, NULL, CAIRN_COLUMN_NUMBER, true                                                                  \
	}
#define KEY_OF(type, name)                                                                                             \
	{                                                                                                              \
		name, NULL, CAIRN_COLUMN_##type, true                                                                  \
	}
#define NUMBER(name)                                                                                                   \
	{                                                                                                              \
		name, NULL, CAIRN_COLUMN_NUMBER, false                                                                 \
	}
#define COLUMN(type, name)                                                                                             \
	{                                                                                                              \
		name, NULL, CAIRN_COLUMN_##type, false                                                                 \
	}

const char *const CAIRN_INDEX_EMPTY_OWN[CAIRN_INDEX_OWN_TABLES] = {
	"DELETE FROM device_code",
	"DELETE FROM card",
	"DELETE FROM tag",
	"DELETE FROM unregistered",
};

const struct cairn_table CAIRN_INDEX_TABLES[CAIRN_TABLES] = {
	[CAIRN_TABLE_SCOPE] = {"scope", true, 4, {KEY("id"), COLUMN(TEXT, "name"), NUMBER("quota"), NUMBER("stored")}},
	[CAIRN_TABLE_ACCOUNT] = {"account",
				 true,
				 9,
				 {KEY("id"), NUMBER("kind"), COLUMN(TEXT, "name"), COLUMN(TEXT, "fullname"),
				  COLUMN(TEXT, "email"), NUMBER("created"), NUMBER("disabled"), NUMBER("quota"),
				  NUMBER("mirrored")}},
	[CAIRN_TABLE_MEMBERSHIP] = {"membership",
				    false,
				    3,
				    {KEY("organisation"),
				     {"member", "user", CAIRN_COLUMN_NUMBER, true},
				     NUMBER("role")}},
	[CAIRN_TABLE_API_KEY] = {"api_key",
				 true,
				 11,
				 {KEY("id"), COLUMN(BYTES, "digest"), COLUMN(TEXT, "name"), COLUMN(TEXT, "repo"),
				  COLUMN(TEXT, "scopes"), NUMBER("created"), NUMBER("revoked"), NUMBER("account"),
				  NUMBER("expires"), NUMBER("used"), NUMBER("parent")}},
	[CAIRN_TABLE_REPO] = {"repo",
			      true,
			      20,
			      {KEY("id"),
			       NUMBER("kind"),
			       NUMBER("account"),
			       COLUMN(TEXT, "name"),
			       COLUMN(LOGICAL, "private"),
			       NUMBER("scope"),
			       NUMBER("created"),
			       NUMBER("updated"),
			       NUMBER("files"),
			       NUMBER("bytes"),
			       NUMBER("dropped"),
			       NUMBER("gate"),
			       COLUMN(TEXT, "sdk"),
			       NUMBER("quota"),
			       NUMBER("stored"),
			       NUMBER("guard"),
			       COLUMN(LOGICAL, "pulls_closed"),
			       NUMBER("charged"),
			       NUMBER("last_pull"),
			       NUMBER("mirrored")}},
	[CAIRN_TABLE_FORMER] = {"former",
				false,
				4,
				{KEY("kind"), KEY("account"), KEY_OF(TEXT, "name"), NUMBER("repo")}},
	[CAIRN_TABLE_MIRROR_ALIAS] = {"mirror_alias",
				      false,
				      3,
				      {KEY("kind"), KEY_OF(TEXT, "name"), COLUMN(TEXT, "target")}},
	[CAIRN_TABLE_ACCESS_REQUEST] =
		{"access_request",
		 true,
		 8,
		 {KEY("id"), NUMBER("repo"), NUMBER("account"), COLUMN(BYTES, "request"), NUMBER("state"),
		  NUMBER("asked"), NUMBER("at"), COLUMN(TEXT, "reason")}},
	[CAIRN_TABLE_XORB] =
		{"xorb",
		 true,
		 10,
		 {KEY("id"), COLUMN(BYTES, "hash"), NUMBER("chunks"), NUMBER("unpacked"), NUMBER("stored"),
		  NUMBER("at"), NUMBER("retired"), COLUMN(LOGICAL, "repacked"), COLUMN(COPY, "copy"),
		  NUMBER("withdrawn")}},
	[CAIRN_TABLE_LIST] = {"list", false, 3, {KEY("xorb"), COLUMN(BYTES, "spans"), COLUMN(BYTES, "hashes")}},
	[CAIRN_TABLE_SHARD] =
		{"shard",
		 true,
		 6,
		 {KEY("id"), COLUMN(BYTES, "hash"), NUMBER("scope"), NUMBER("owner"), NUMBER("collection"),
		  NUMBER("at")}},
	[CAIRN_TABLE_MEMBER] = {"member", false, 2, {KEY("shard"), KEY("xorb")}},
	[CAIRN_TABLE_DEDUPE] = {"dedupe",
				false,
				5,
				{KEY("prefix"), KEY("scope"), KEY("xorb"), NUMBER("place"), NUMBER("shard")}},
	[CAIRN_TABLE_FILE] =
		{"file",
		 true,
		 5,
		 {KEY("id"), COLUMN(BYTES, "hash"), NUMBER("size"), COLUMN(BYTES, "terms"), NUMBER("at")}},
	[CAIRN_TABLE_FILE_OWNER] = {"file_owner",
				    false,
				    6,
				    {KEY("file"), KEY("scope"), KEY_OF(BYTES, "sha256"), NUMBER("at"), NUMBER("proof"),
				     NUMBER("due")}},
	[CAIRN_TABLE_PROOF] = {"proof", false, 2, {KEY("file"), COLUMN(BYTES, "sha256")}},
	[CAIRN_TABLE_REFERENCE] = {"reference", false, 2, {KEY("xorb"), KEY("file")}},
	[CAIRN_TABLE_OBJECT] = {"object",
				false,
				6,
				{KEY("repo"), KEY_OF(PATH, "path"), NUMBER("file"), NUMBER("mtime"), NUMBER("uploaded"),
				 COLUMN(TEXT, "type")}},
	[CAIRN_TABLE_LINE] =
		{"line",
		 true,
		 6,
		 {KEY("id"), NUMBER("repo"), NUMBER("parent"), NUMBER("fork"), NUMBER("depth"), NUMBER("head")}},
	[CAIRN_TABLE_COMMIT] = {"commit_",
				true,
				13,
				{KEY("id"), NUMBER("repo"), NUMBER("line"), NUMBER("number"), NUMBER("parent"),
				 COLUMN(BYTES, "oid"), COLUMN(BYTES, "root"), NUMBER("at"), NUMBER("files"),
				 NUMBER("bytes"), COLUMN(TEXT, "author"), COLUMN(TEXT, "title"),
				 COLUMN(TEXT, "message")}},
	[CAIRN_TABLE_REF] = {"ref",
			     false,
			     5,
			     {KEY("repo"), KEY("kind"), KEY_OF(PATH, "name"), NUMBER("line"), NUMBER("commit_")}},
	[CAIRN_TABLE_PULL] = {"pull",
			      false,
			      15,
			      {KEY("repo"), KEY("number"), NUMBER("state"), COLUMN(PATH, "base"), NUMBER("start"),
			       NUMBER("account"), COLUMN(TEXT, "author"), NUMBER("at"), COLUMN(TEXT, "title"),
			       COLUMN(TEXT, "message"), NUMBER("ended"), COLUMN(TEXT, "ended_by"),
			       COLUMN(TEXT, "comment"), COLUMN(TEXT, "merged"), NUMBER("charged")}},
	[CAIRN_TABLE_PROPOSED] = {"proposed",
				  false,
				  5,
				  {KEY("file"), KEY("scope"), KEY("pull"), NUMBER("line"), NUMBER("holder")}},
	[CAIRN_TABLE_FEED] = {"feed", false, 3, {KEY("repo"), KEY("at"), COLUMN(BYTES, "paths")}},
	[CAIRN_TABLE_CONTENT] =
		{"content",
		 true,
		 10,
		 {KEY("id"), NUMBER("repo"), NUMBER("uses"), NUMBER("size"), NUMBER("key"), COLUMN(BYTES, "body"),
		  COLUMN(BYTES, "sha256"), NUMBER("file"), NUMBER("since"), COLUMN(PATH, "path")}},
	[CAIRN_TABLE_ENTRY] = {"entry",
			       false,
			       6,
			       {KEY("line"), KEY_OF(PATH, "folder"), KEY_OF(PATH, "name"), KEY("since"),
				COLUMN(BYTES, "oid"), NUMBER("content")}},
	[CAIRN_TABLE_MIRROR_REPO] = {"mirror_repo",
				     false,
				     13,
				     {KEY("repo"), NUMBER("state"), NUMBER("looked"), NUMBER("every"), NUMBER("keep"),
				      COLUMN(TEXT, "include"), NUMBER("used"), NUMBER("asked"), NUMBER("fetched"),
				      NUMBER("going"), NUMBER("failed"), COLUMN(TEXT, "rule"),
				      COLUMN(TEXT, "message")}},
	[CAIRN_TABLE_MIRROR_FILE] = {"mirror_file", false, 3, {KEY("content"), NUMBER("used"), NUMBER("repo")}},
	[CAIRN_TABLE_MIRROR_PART] = {"mirror_part", false, 3, {KEY("content"), KEY("first"), NUMBER("file")}},
	[CAIRN_TABLE_MIRROR_PLACE] = {"mirror_place",
				      false,
				      6,
				      {KEY_OF(BYTES, "xorb"), KEY("repo"), KEY("first"), KEY("file"), NUMBER("past"),
				       NUMBER("at")}},
	[CAIRN_TABLE_TELEMETRY] =
		{"telemetry",
		 true,
		 5,
		 {KEY("id"), NUMBER("at"), COLUMN(TEXT, "sender"), COLUMN(BYTES, "body"), NUMBER("who")}},
};

unsigned cairn_table_keys(const struct cairn_table *table)
{
	unsigned n = 0;
	while (n < table->n_columns && table->columns[n].is_key)
		n++;
	return n;
}

const char *cairn_index_table_name(enum cairn_index_table table)
{
	return CAIRN_INDEX_TABLES[table].name;
}
