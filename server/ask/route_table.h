/* Rows for the tables of routes that take a token (docs/openapi.yaml has the scopes). */
#ifndef CAIRN_SERVER_ASK_ROUTE_TABLE_H
#define CAIRN_SERVER_ASK_ROUTE_TABLE_H

/** Routes for requests without a body. */
#define ROUTE_GET(path, label, needs, reply, release)    ROUTE_ROW("GET", path, label, needs, reply, release)
#define ROUTE_HEAD(path, label, needs, reply, release)   ROUTE_ROW("HEAD", path, label, needs, reply, release)
#define ROUTE_POST(path, label, needs, reply, release)   ROUTE_ROW("POST", path, label, needs, reply, release)
#define ROUTE_DELETE(path, label, needs, reply, release) ROUTE_ROW("DELETE", path, label, needs, reply, release)
#define ROUTE_ROW(verb, path, label, needs, reply, release)                                                            \
	{                                                                                                              \
		.method = (verb), .pattern = (path), .name = (label), .scope = (needs), .done = (reply),               \
		.free = (release)                                                                                      \
	}

/** A route for requests with a body of at most `max` bytes. */
#define ROUTE_BODY_POST(path, label, needs, max, begin, take, finish, release)                                         \
	{                                                                                                              \
		.method = "POST", .pattern = (path), .name = (label), .scope = (needs), .body_max = (max),             \
		.head = (begin), .body = (take), .done = (finish), .free = (release)                                   \
	}

#endif
