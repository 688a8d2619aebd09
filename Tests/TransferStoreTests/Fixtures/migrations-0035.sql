-- The database that the last build with migrations wrote on 2026-11-28, as the command .dump of sqlite3 shows it. Paths
-- and names of the machine are replaced.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('0001');
INSERT INTO grdb_migrations VALUES('0002');
INSERT INTO grdb_migrations VALUES('0003');
INSERT INTO grdb_migrations VALUES('0004');
INSERT INTO grdb_migrations VALUES('0005');
INSERT INTO grdb_migrations VALUES('0006');
INSERT INTO grdb_migrations VALUES('0007');
INSERT INTO grdb_migrations VALUES('0008');
INSERT INTO grdb_migrations VALUES('0009');
INSERT INTO grdb_migrations VALUES('0010');
INSERT INTO grdb_migrations VALUES('0011');
INSERT INTO grdb_migrations VALUES('0012');
INSERT INTO grdb_migrations VALUES('0013');
INSERT INTO grdb_migrations VALUES('0014');
INSERT INTO grdb_migrations VALUES('0015');
INSERT INTO grdb_migrations VALUES('0016');
INSERT INTO grdb_migrations VALUES('0018');
INSERT INTO grdb_migrations VALUES('0019');
INSERT INTO grdb_migrations VALUES('0020');
INSERT INTO grdb_migrations VALUES('0021');
INSERT INTO grdb_migrations VALUES('0022');
INSERT INTO grdb_migrations VALUES('0023');
INSERT INTO grdb_migrations VALUES('0024');
INSERT INTO grdb_migrations VALUES('0025');
INSERT INTO grdb_migrations VALUES('0026');
INSERT INTO grdb_migrations VALUES('0027');
INSERT INTO grdb_migrations VALUES('0028');
INSERT INTO grdb_migrations VALUES('0029');
INSERT INTO grdb_migrations VALUES('0031');
INSERT INTO grdb_migrations VALUES('0032');
INSERT INTO grdb_migrations VALUES('0034');
INSERT INTO grdb_migrations VALUES('0035');
CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('created_at','1795907854127');
INSERT INTO meta VALUES('pauses_boot','00000000-0000-4000-8000-000000000000');
INSERT INTO meta VALUES('store_id','bfc84c13-7b78-43e3-8349-2b2d5f0807d1');
INSERT INTO meta VALUES('volatile_starts','1');
CREATE TABLE counter (
    name TEXT PRIMARY KEY NOT NULL CHECK (name IN ('event', 'task')),
    value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES('event',46);
INSERT INTO counter VALUES('task',8);
CREATE TABLE setting (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO setting VALUES('historyRetention','604800');
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    identifier TEXT NOT NULL CHECK (identifier <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('background', 'default', 'ephemeral')),
    state TEXT NOT NULL CHECK (state IN ('active', 'finishing', 'invalidated')),
    configuration TEXT NOT NULL,
    created_at INTEGER NOT NULL, paused_since INTEGER, paused_time INTEGER NOT NULL DEFAULT 0 CHECK (paused_time >= 0),
    UNIQUE (owner, identifier)
) STRICT;
INSERT INTO session VALUES(1,0,'podcasts','background','active','{"httpCookieStorage":"shared","asks":["redirect"],"maximumConcurrentTasks":2}',1795907855876,NULL,0);
INSERT INTO session VALUES(2,0,'shared','background','active','{}',1795907854127,NULL,0);
CREATE TABLE lane (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    queued INTEGER NOT NULL DEFAULT 0 CHECK (queued BETWEEN 0 AND tasks),
    tasks INTEGER NOT NULL DEFAULT 0 CHECK (tasks >= 0),
    head_priority REAL,
    head_position REAL, held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    UNIQUE (session, host),
    CHECK ((queued > 0) = (head_priority IS NOT NULL)),
    CHECK ((queued > 0) = (head_position IS NOT NULL))
) STRICT;
INSERT INTO lane VALUES(1,2,'http://127.0.0.1:8931',1,6,0.5,6.0,0);
INSERT INTO lane VALUES(2,2,'http://127.0.0.1:9',0,1,NULL,NULL,0);
INSERT INTO lane VALUES(3,1,'http://127.0.0.1:8931',0,1,NULL,NULL,0);
CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session (id),
    lane INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'download' OR kind = 'upload' OR kind = 'data'),
    priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
    position REAL NOT NULL,
    state TEXT NOT NULL
        CHECK (state = 'queued' OR state = 'running' OR state = 'waiting' OR state = 'paused'
        OR state = 'completed' OR state = 'failed' OR state = 'cancelled'),
    reason TEXT
        CHECK (reason = 'retry' OR reason = 'network' OR reason = 'schedule' OR reason = 'disk'
        OR reason = 'authentication' OR reason = 'decision' OR reason = 'metered'),
    next_attempt_at INTEGER,
    error TEXT,
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    failures_in_row INTEGER NOT NULL CHECK (failures_in_row >= 0),
    integrity_restarts INTEGER NOT NULL CHECK (integrity_restarts >= 0),
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    budget_used REAL NOT NULL CHECK (budget_used >= 0),
    budget_mark INTEGER,
    unresolved_since INTEGER,
    deadline_at INTEGER,
    expires_at INTEGER,
    destination_device INTEGER,
    result_file TEXT,
    result_bytes INTEGER CHECK (result_bytes >= 0),
    result_sha256 TEXT,
    result_verified INTEGER CHECK (result_verified IN (0, 1)),
    url TEXT NOT NULL,
    description TEXT,
    spec TEXT NOT NULL, result_inode INTEGER, result_changed_ns INTEGER CHECK (result_changed_ns IS NULL OR result_inode IS NOT NULL), result_crc32c INTEGER
    CHECK (result_crc32c IS NULL OR (result_inode IS NOT NULL AND result_crc32c BETWEEN 0 AND 4294967295)), short_body TEXT CHECK (short_body IS NULL OR json_valid(short_body)), sought INTEGER NOT NULL DEFAULT 1 CHECK (sought IN (0, 1)), metrics BLOB,
    CHECK ((state = 'waiting') = (reason IS NOT NULL)),
    CHECK ((state = 'completed' OR state = 'failed' OR state = 'cancelled') = (finished_at IS NOT NULL)),
    CHECK (next_attempt_at IS NULL OR state = 'waiting'),
    CHECK (error IS NOT NULL OR state <> 'failed'),
    CHECK (budget_mark IS NULL OR (state = 'queued' OR state = 'running' OR state = 'waiting')),
    CHECK (expires_at IS NULL OR budget_mark IS NOT NULL),
    CHECK ((result_bytes IS NULL) = (result_verified IS NULL))
) STRICT;
INSERT INTO task VALUES(1,2,1,'download',0.5,1.0,'completed',NULL,NULL,NULL,1,0,0,1795907856034,1795907856041,1795907856059,0.025000000000000001387,NULL,NULL,NULL,NULL,65024,'/downloads/file.txt',14,NULL,0,'http://127.0.0.1:8931/file.txt','A note','{"kind":"download","url":"http://127.0.0.1:8931/file.txt","destination":{"directory":"/downloads"},"description":"A note","tags":["news","t2"],"clientToken":"tok"}',16557134,1795907856047652337,3264030595,NULL,1,X'0100369b0302bcd5bc8ee6ab98030026268905d10600960cfc02093132372e302e302e31e345093132372e302e302e31d8bb0398010096010e');
INSERT INTO task VALUES(2,2,1,'download',0.5,2.0,'failed',NULL,NULL,'{"code":"http.status","message":"127.0.0.1 answered 404: there is no such file; check the URL.","retryable":false,"details":{"status":404}}',1,0,0,1795907856064,1795907856067,1795907856080,0.016000000000000000333,NULL,NULL,NULL,NULL,65024,NULL,NULL,NULL,NULL,'http://127.0.0.1:8931/missing',NULL,'{"kind":"download","url":"http://127.0.0.1:8931/missing","destination":{"path":"/downloads/missing.txt"}}',NULL,NULL,NULL,NULL,1,X'01002db803028ceabd8ee6ab980300000000093132372e302e302e31e345093132372e302e302e31d8bb039701007600');
INSERT INTO task VALUES(3,2,1,'download',0.5,3.0,'paused',NULL,NULL,NULL,0,0,0,1795907856099,NULL,NULL,0.0,NULL,NULL,NULL,NULL,65024,NULL,NULL,NULL,NULL,'http://127.0.0.1:8931/paused',NULL,'{"kind":"download","url":"http://127.0.0.1:8931/paused","destination":{"path":"/downloads/paused.txt"},"startPaused":true}',NULL,NULL,NULL,NULL,1,NULL);
INSERT INTO task VALUES(4,2,2,'download',0.5,4.0,'waiting','retry',1795907874423,'{"code":"network.connect","message":"127.0.0.1 does not accept connections.","retryable":true,"details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"}}',5,5,0,1795907856139,1795907856141,NULL,0.0,46225252,NULL,NULL,1796512656139,65024,NULL,NULL,NULL,NULL,'http://127.0.0.1:9/refused',NULL,'{"kind":"download","url":"http://127.0.0.1:9/refused","destination":{"path":"/downloads/refused.txt"}}',NULL,NULL,NULL,NULL,1,X'0100130300fb9cc28ee6ab9803001c1cae010000000013030084c2da8ee6ab9803002929f60100000000130300e587ac8fe6ab9803002929bb010000000013030089a3ca8fe6ab9803001d1d9d010000000013030090a3f592e6ab9803002828ee0100000000');
INSERT INTO task VALUES(5,1,3,'download',0.5,5.0,'waiting','decision',1795907916205,NULL,1,0,0,1795907856188,1795907856189,NULL,0.0,46225301,NULL,NULL,1796512656188,65024,NULL,NULL,NULL,NULL,'http://127.0.0.1:8931/redirect',NULL,'{"kind":"download","url":"http://127.0.0.1:8931/redirect","destination":{"path":"/downloads/redir.txt"}}',NULL,NULL,NULL,NULL,1,X'0100349b0302d8c2c58ee6ab9803001c1c71e50100891a00093132372e302e302e31e345093132372e302e302e31dcbb03a90100870100');
INSERT INTO task VALUES(6,2,1,'download',0.5,6.0,'queued',NULL,NULL,NULL,1,0,0,1795907856221,1795907856228,NULL,0.0,46225334,NULL,NULL,1796512656221,65024,NULL,NULL,NULL,NULL,'http://127.0.0.1:8931/slow',NULL,'{"kind":"download","url":"http://127.0.0.1:8931/slow","destination":{"path":"/downloads/slow.bin"},"rateLimit":102400}',NULL,NULL,NULL,NULL,1,X'010030b80302c5a59290e6ab9803920100991800093132372e302e302e31e345093132372e302e302e31e0bb03c40100990100349b0302fec49290e6ab980300181865c20100fa6700093132372e302e302e31e345093132372e302e302e31f0bb03b2010099010035b80302b1c4c78ee6ab98038d01008d01de85e806093132372e302e302e31e345093132372e302e302e31dcbb039401009901b0b859');
INSERT INTO task VALUES(7,2,1,'data',0.5,7.0,'completed',NULL,NULL,NULL,1,0,0,1795907856258,1795907856266,1795907856268,0.010000000000000000208,NULL,NULL,NULL,NULL,NULL,NULL,14,NULL,0,'http://127.0.0.1:8931/file.txt',NULL,'{"kind":"data","url":"http://127.0.0.1:8931/file.txt","timeoutIntervalForResource":600,"retry":{"attempts":1}}',NULL,NULL,NULL,NULL,1,X'0100349b0302c0edc98ee6ab9803001b1bdc04bf0500ee0700093132372e302e302e31e345093132372e302e302e31e0bb037e0096010e');
INSERT INTO task VALUES(8,2,1,'upload',0.5,8.0,'completed',NULL,NULL,NULL,1,0,0,1795907856305,1795907856307,1795907856313,0.0080000000000000001665,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL,0,'http://127.0.0.1:8931/up.txt',NULL,'{"kind":"upload","url":"http://127.0.0.1:8931/up.txt","source":{"path":"/downloads/up.txt"},"uploadProtocol":"put"}',NULL,NULL,NULL,NULL,1,X'01002eb803029dc5cc8ee6ab98036f00880500093132372e302e302e31e345093132372e302e302e31e0bb038001037400');
CREATE TABLE checkpoint (
    task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    part_offset INTEGER NOT NULL CHECK (part_offset >= 0),
    total INTEGER CHECK (total >= 0),
    etag TEXT,
    last_modified TEXT,
    response_date TEXT,
    content_coding TEXT,
    part_path TEXT NOT NULL,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    server_digests TEXT
, ranges TEXT
    CHECK (ranges IS NULL OR (total IS NOT NULL AND json_type(ranges) = 'array' AND json_array_length(ranges) > 0)), origin TEXT CHECK (origin IS NULL OR length(origin) > 0)) STRICT;
INSERT INTO checkpoint VALUES(6,1449008,8000000,'"slow"',NULL,'Sat, 28 Nov 2026 23:17:36 GMT',NULL,'/downloads/.slow.bin.bfc84c137b7843e3-6.dldpart',65024,16557135,NULL,NULL,NULL);
CREATE TABLE response (
    task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    document TEXT NOT NULL
, head TEXT) STRICT;
INSERT INTO response VALUES(1,'{"url":"http://127.0.0.1:8931/file.txt","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","14"],["ETag","\"v1\""],["Content-Type","text/plain"]],"mimeType":"text/plain","expectedLength":14,"suggestedFilename":"file.txt"}',NULL);
INSERT INTO response VALUES(2,'{"url":"http://127.0.0.1:8931/missing","status":404,"statusText":"not found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"missing"}',NULL);
INSERT INTO response VALUES(5,'{"url":"http://127.0.0.1:8931/redirect","status":302,"statusText":"found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Location","/file.txt"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"redirect"}',NULL);
INSERT INTO response VALUES(6,'{"url":"http://127.0.0.1:8931/slow","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","8000000"],["ETag","\"slow\""],["Accept-Ranges","bytes"]],"expectedLength":8000000,"suggestedFilename":"slow"}',NULL);
INSERT INTO response VALUES(7,'{"url":"http://127.0.0.1:8931/file.txt","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","14"],["ETag","\"v1\""],["Content-Type","text/plain"]],"mimeType":"text/plain","expectedLength":14,"suggestedFilename":"file.txt"}',NULL);
INSERT INTO response VALUES(8,'{"url":"http://127.0.0.1:8931/up.txt","status":201,"statusText":"created","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"up.txt"}',NULL);
CREATE TABLE task_count (
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (session, state)
) STRICT, WITHOUT ROWID;
INSERT INTO task_count VALUES(1,'cancelled',0);
INSERT INTO task_count VALUES(1,'completed',0);
INSERT INTO task_count VALUES(1,'failed',0);
INSERT INTO task_count VALUES(1,'paused',0);
INSERT INTO task_count VALUES(1,'queued',0);
INSERT INTO task_count VALUES(1,'running',0);
INSERT INTO task_count VALUES(1,'waiting',1);
INSERT INTO task_count VALUES(2,'cancelled',0);
INSERT INTO task_count VALUES(2,'completed',3);
INSERT INTO task_count VALUES(2,'failed',1);
INSERT INTO task_count VALUES(2,'paused',1);
INSERT INTO task_count VALUES(2,'queued',1);
INSERT INTO task_count VALUES(2,'running',0);
INSERT INTO task_count VALUES(2,'waiting',1);
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
    time INTEGER NOT NULL,
    type TEXT NOT NULL CHECK (type <> 'task.progress'),
    owner INTEGER NOT NULL,
    session TEXT NOT NULL,
    task INTEGER,
    payload TEXT
, filed INTEGER CHECK (filed = 1)) STRICT;
INSERT INTO event VALUES(1,1795907855876,'session.opened',0,'podcasts',NULL,NULL,NULL);
INSERT INTO event VALUES(2,1795907856034,'task.added',0,'shared',1,'{"state":"queued","url":"http://127.0.0.1:8931/file.txt","clientToken":"tok","tags":["news","t2"]}',NULL);
INSERT INTO event VALUES(3,1795907856041,'task.started',0,'shared',1,'{"attempt":1}',NULL);
INSERT INTO event VALUES(4,1795907856059,'task.response',0,'shared',1,'{"response":{"url":"http://127.0.0.1:8931/file.txt","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","14"],["ETag","\"v1\""],["Content-Type","text/plain"]],"mimeType":"text/plain","expectedLength":14,"suggestedFilename":"file.txt"}}',NULL);
INSERT INTO event VALUES(5,1795907856059,'task.completed',0,'shared',1,'{"bytes":14,"duration":0.009,"verified":false,"file":"/downloads/file.txt","url":"http://127.0.0.1:8931/file.txt","clientToken":"tok","tags":["news","t2"]}',NULL);
INSERT INTO event VALUES(6,1795907856059,'session.drained',0,'shared',NULL,NULL,NULL);
INSERT INTO event VALUES(7,1795907856064,'task.added',0,'shared',2,'{"state":"queued","url":"http://127.0.0.1:8931/missing"}',NULL);
INSERT INTO event VALUES(8,1795907856067,'task.started',0,'shared',2,'{"attempt":1}',NULL);
INSERT INTO event VALUES(9,1795907856075,'task.response',0,'shared',2,'{"response":{"url":"http://127.0.0.1:8931/missing","status":404,"statusText":"not found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"missing"}}',NULL);
INSERT INTO event VALUES(10,1795907856080,'task.failed',0,'shared',2,'{"error":{"code":"http.status","details":{"status":404},"message":"127.0.0.1 answered 404: there is no such file; check the URL.","retryable":false},"url":"http://127.0.0.1:8931/missing"}',NULL);
INSERT INTO event VALUES(11,1795907856081,'session.drained',0,'shared',NULL,NULL,NULL);
INSERT INTO event VALUES(12,1795907856099,'task.added',0,'shared',3,'{"state":"paused","url":"http://127.0.0.1:8931/paused"}',NULL);
INSERT INTO event VALUES(13,1795907856099,'task.paused',0,'shared',3,NULL,NULL);
INSERT INTO event VALUES(14,1795907856139,'task.added',0,'shared',4,'{"state":"queued","url":"http://127.0.0.1:9/refused"}',NULL);
INSERT INTO event VALUES(15,1795907856141,'task.started',0,'shared',4,'{"attempt":1}',NULL);
INSERT INTO event VALUES(16,1795907856145,'task.waiting',0,'shared',4,'{"reason":"retry","nextAttemptAt":"2026-11-28T23:17:36.536Z","error":{"code":"network.connect","details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"},"message":"127.0.0.1 does not accept connections.","retryable":true}}',NULL);
INSERT INTO event VALUES(17,1795907856188,'task.added',0,'podcasts',5,'{"state":"queued","url":"http://127.0.0.1:8931/redirect"}',NULL);
INSERT INTO event VALUES(18,1795907856189,'task.started',0,'podcasts',5,'{"attempt":1}',NULL);
INSERT INTO event VALUES(19,1795907856200,'task.response',0,'podcasts',5,'{"response":{"url":"http://127.0.0.1:8931/redirect","status":302,"statusText":"found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Location","/file.txt"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"redirect"}}',NULL);
INSERT INTO event VALUES(20,1795907856205,'task.waiting',0,'podcasts',5,'{"reason":"decision","nextAttemptAt":"2026-11-28T23:18:36.205Z"}',NULL);
INSERT INTO event VALUES(21,1795907856205,'task.decision',0,'podcasts',5,'{"decision":1,"kind":"redirect","default":"follow","deadline":"2026-11-28T23:18:36.205Z","response":{"url":"http://127.0.0.1:8931/redirect","status":302,"statusText":"found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Location","/file.txt"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"redirect"},"request":{"url":"http://127.0.0.1:8931/file.txt","method":"GET","headers":[]},"actions":["follow","followWith","refuse"]}',NULL);
INSERT INTO event VALUES(22,1795907856221,'task.added',0,'shared',6,'{"state":"queued","url":"http://127.0.0.1:8931/slow"}',NULL);
INSERT INTO event VALUES(23,1795907856228,'task.started',0,'shared',6,'{"attempt":1}',NULL);
INSERT INTO event VALUES(24,1795907856232,'task.response',0,'shared',6,'{"response":{"url":"http://127.0.0.1:8931/slow","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","8000000"],["ETag","\"slow\""],["Accept-Ranges","bytes"]],"expectedLength":8000000,"suggestedFilename":"slow"}}',NULL);
INSERT INTO event VALUES(25,1795907856258,'task.added',0,'shared',7,'{"state":"queued","url":"http://127.0.0.1:8931/file.txt"}',NULL);
INSERT INTO event VALUES(26,1795907856266,'task.started',0,'shared',7,'{"attempt":1}',NULL);
INSERT INTO event VALUES(27,1795907856268,'task.response',0,'shared',7,'{"response":{"url":"http://127.0.0.1:8931/file.txt","status":200,"statusText":"OK","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","14"],["ETag","\"v1\""],["Content-Type","text/plain"]],"mimeType":"text/plain","expectedLength":14,"suggestedFilename":"file.txt"}}',NULL);
INSERT INTO event VALUES(28,1795907856268,'task.completed',0,'shared',7,'{"bytes":14,"duration":0.002,"verified":false,"url":"http://127.0.0.1:8931/file.txt"}',NULL);
INSERT INTO event VALUES(29,1795907856305,'task.added',0,'shared',8,'{"state":"queued","url":"http://127.0.0.1:8931/up.txt"}',NULL);
INSERT INTO event VALUES(30,1795907856307,'task.started',0,'shared',8,'{"attempt":1}',NULL);
INSERT INTO event VALUES(31,1795907856312,'task.response',0,'shared',8,'{"response":{"url":"http://127.0.0.1:8931/up.txt","status":201,"statusText":"created","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"up.txt"}}',NULL);
INSERT INTO event VALUES(32,1795907856313,'task.completed',0,'shared',8,'{"bytes":3,"duration":0.001,"verified":false,"url":"http://127.0.0.1:8931/up.txt"}',NULL);
INSERT INTO event VALUES(33,1795907856537,'task.queued',0,'shared',4,NULL,NULL);
INSERT INTO event VALUES(34,1795907856539,'task.started',0,'shared',4,'{"attempt":2}',NULL);
INSERT INTO event VALUES(35,1795907856541,'task.waiting',0,'shared',4,'{"reason":"retry","nextAttemptAt":"2026-11-28T23:17:37.871Z","error":{"code":"network.connect","details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"},"message":"127.0.0.1 does not accept connections.","retryable":true}}',NULL);
INSERT INTO event VALUES(36,1795907857872,'task.queued',0,'shared',4,NULL,NULL);
INSERT INTO event VALUES(37,1795907857875,'task.started',0,'shared',4,'{"attempt":3}',NULL);
INSERT INTO event VALUES(38,1795907857877,'task.waiting',0,'shared',4,'{"reason":"retry","nextAttemptAt":"2026-11-28T23:17:38.364Z","error":{"code":"network.connect","details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"},"message":"127.0.0.1 does not accept connections.","retryable":true}}',NULL);
INSERT INTO event VALUES(39,1795907858365,'task.queued',0,'shared',4,NULL,NULL);
INSERT INTO event VALUES(40,1795907858367,'task.started',0,'shared',4,'{"attempt":4}',NULL);
INSERT INTO event VALUES(41,1795907858372,'task.waiting',0,'shared',4,'{"reason":"retry","nextAttemptAt":"2026-11-28T23:17:45.349Z","error":{"code":"network.connect","details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"},"message":"127.0.0.1 does not accept connections.","retryable":true}}',NULL);
INSERT INTO event VALUES(42,1795907865349,'task.queued',0,'shared',4,NULL,NULL);
INSERT INTO event VALUES(43,1795907865359,'task.started',0,'shared',4,'{"attempt":5}',NULL);
INSERT INTO event VALUES(44,1795907865368,'task.waiting',0,'shared',4,'{"reason":"retry","nextAttemptAt":"2026-11-28T23:17:54.423Z","error":{"code":"network.connect","details":{"curl":7,"reason":"Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn''t connect to server"},"message":"127.0.0.1 does not accept connections.","retryable":true}}',NULL);
INSERT INTO event VALUES(45,1795907870500,'settings.changed',0,'shared',NULL,'{"settings":{"historyRetention":604800}}',NULL);
INSERT INTO event VALUES(46,1795907870518,'task.queued',0,'shared',6,'{"explanation":"The daemon stopped; it continues when the daemon runs again."}',NULL);
CREATE TABLE subscriber (
    owner INTEGER NOT NULL,
    name TEXT NOT NULL CHECK (name <> ''),
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE upload (
    task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    progress TEXT NOT NULL
) STRICT;
CREATE TABLE source (
    task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL CHECK (size >= 0),
    modified_ns INTEGER NOT NULL
) STRICT;
INSERT INTO source VALUES(8,65024,16557136,3,1795907856275652351);
CREATE TABLE body (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('request', 'response')),
    content BLOB NOT NULL, is_shown INTEGER NOT NULL DEFAULT 0 CHECK (is_shown IN (0, 1)),
    UNIQUE (task, role)
) STRICT;
INSERT INTO body VALUES(1,5,'response',X'',0);
INSERT INTO body VALUES(2,7,'response',X'68656c6c6f2c20666f6c6465720a',1);
CREATE TABLE upload_ending (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    session TEXT NOT NULL,
    spec TEXT NOT NULL,
    progress TEXT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    recorded_at INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL
) STRICT;
CREATE TABLE left_part (
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    folder TEXT NOT NULL CHECK (folder <> ''),
    name TEXT NOT NULL CHECK (name <> ''),
    task INTEGER NOT NULL,
    device INTEGER,
    inode INTEGER,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (folder, owner, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "client_token" (
    owner INTEGER NOT NULL,
    token TEXT NOT NULL,
    task INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    digest BLOB CHECK (digest IS NULL OR length(digest) = 16),
    removed_as TEXT CHECK (removed_as IN ('completed', 'failed', 'cancelled')),
    PRIMARY KEY (owner, token, task)
) STRICT, WITHOUT ROWID;
INSERT INTO client_token VALUES(0,'tok',1,1795907856034,X'4b52512555b508c5866932da80edd5be',NULL);
CREATE TABLE task_tag (
    owner INTEGER NOT NULL,
    tag TEXT NOT NULL,
    task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, tag, task)
) STRICT, WITHOUT ROWID;
INSERT INTO task_tag VALUES(0,'news',1);
INSERT INTO task_tag VALUES(0,'t2',1);
CREATE TABLE launch (
    session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0),
    program TEXT
) STRICT;
CREATE TABLE event_owner (
    owner INTEGER PRIMARY KEY,
    count INTEGER NOT NULL CHECK (count >= 0),
    expired INTEGER NOT NULL CHECK (expired >= 0)
) STRICT;
INSERT INTO event_owner VALUES(0,46,0);
CREATE TABLE decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answer TEXT CHECK ((answer IS NOT NULL) = (state = 'answered')),
    settled TEXT NOT NULL
) STRICT;
INSERT INTO decision VALUES(1,5,'open','{"kind":"redirect","default":"follow","deadline":"2026-11-28T23:18:36.205Z","response":{"url":"http://127.0.0.1:8931/redirect","status":302,"statusText":"found","headers":[["Server","origin"],["Date","Sat, 28 Nov 2026 23:17:36 GMT"],["Location","/file.txt"],["Content-Length","0"]],"expectedLength":0,"suggestedFilename":"redirect"},"request":{"url":"http://127.0.0.1:8931/file.txt","method":"GET","headers":[]},"actions":["follow","followWith","refuse"]}',1795907856205,NULL,'{"asked":1,"askedAt":46225318,"spaces":[],"declinesChallenges":false,"proposed":{"request":{"url":"http://127.0.0.1:8931/file.txt","method":"GET","headers":[]},"sendsOwnBody":false,"isForeign":false,"crossedSites":false,"redirects":1,"mayStepBack":false}}');
CREATE TABLE trusted_key (
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    origin TEXT NOT NULL,
    key TEXT NOT NULL,
    trusted_at INTEGER NOT NULL,
    PRIMARY KEY (session, origin)
) STRICT, WITHOUT ROWID;
CREATE TABLE cookie (
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    session TEXT NOT NULL,
    domain TEXT NOT NULL CHECK (domain <> ''),
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    host_only INTEGER NOT NULL CHECK (host_only IN (0, 1)),
    value TEXT NOT NULL,
    expires_at INTEGER,
    secure INTEGER NOT NULL CHECK (secure IN (0, 1)),
    http_only INTEGER NOT NULL CHECK (http_only IN (0, 1)),
    same_site TEXT CHECK (same_site IN ('none', 'lax', 'strict')),
    created INTEGER NOT NULL,
    PRIMARY KEY (owner, session, domain, path, name, host_only)
) STRICT, WITHOUT ROWID;
INSERT INTO cookie VALUES(0,'','127.0.0.1','/','sid',1,'abc',1830467855936,0,0,NULL,1);
CREATE TABLE credential (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    session TEXT NOT NULL,
    protocol TEXT NOT NULL,
    host TEXT NOT NULL CHECK (host <> ''),
    port INTEGER NOT NULL,
    realm TEXT,
    method TEXT,
    is_proxy INTEGER NOT NULL CHECK (is_proxy IN (0, 1)),
    username TEXT NOT NULL,
    password TEXT NOT NULL,
    persistence TEXT NOT NULL CHECK (persistence IN ('session', 'permanent')),
    is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    is_refused INTEGER NOT NULL CHECK (is_refused IN (0, 1))
) STRICT;
INSERT INTO credential VALUES(1,0,'','https','127.0.0.1',8931,NULL,NULL,0,'anna','secret','permanent',1,0);
CREATE TABLE hsts_host (
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    domain TEXT NOT NULL CHECK (domain <> ''),
    includes_subdomains INTEGER NOT NULL CHECK (includes_subdomains IN (0, 1)),
    learned_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (owner, domain)
) STRICT, WITHOUT ROWID;
CREATE TABLE earlier_decision (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answer TEXT NOT NULL
) STRICT;
CREATE TABLE trusted_server (
    owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
    host TEXT NOT NULL CHECK (host <> ''),
    port INTEGER NOT NULL,
    key TEXT NOT NULL CHECK (key <> ''),
    trusted_at INTEGER NOT NULL,
    PRIMARY KEY (owner, host, port)
) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('decision',1);
CREATE INDEX task_queue ON task (lane, priority DESC, position, id) WHERE state = 'queued';
CREATE INDEX task_waiting ON task (reason, id) WHERE state = 'waiting';
CREATE INDEX task_next_attempt ON task (next_attempt_at)
    WHERE state = 'waiting' AND next_attempt_at IS NOT NULL;
CREATE INDEX task_deadline ON task (deadline_at) WHERE finished_at IS NULL AND deadline_at IS NOT NULL;
CREATE INDEX task_expiry ON task (expires_at) WHERE finished_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX event_final ON event (owner, session, sequence)
    WHERE (type = 'task.completed' OR type = 'task.failed' OR type = 'task.cancelled');
CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
    UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
    UPDATE lane SET tasks = tasks - 1, queued = queued - (OLD.state = 'queued'), (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = OLD.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = OLD.lane;
    DELETE FROM lane WHERE id = OLD.lane AND tasks = 0;
END;
CREATE TRIGGER task_rank_changed AFTER UPDATE OF priority, position ON task
    WHEN NEW.state = 'queued' AND NEW.lane = OLD.lane
    AND (NEW.priority <> OLD.priority OR NEW.position <> OLD.position)
BEGIN
    UPDATE lane SET (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = NEW.lane;
END;
CREATE TRIGGER task_lane_changed AFTER UPDATE OF lane ON task WHEN NEW.lane <> OLD.lane BEGIN
    UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = NEW.lane;
    UPDATE lane SET tasks = tasks - 1, queued = queued - (NEW.state = 'queued'), (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = OLD.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = OLD.lane;
    DELETE FROM lane WHERE id = OLD.lane AND tasks = 0;
END;
CREATE INDEX upload_ending_due ON upload_ending (next_attempt_at, id);
CREATE INDEX task_by_id ON task (session, state, kind, id);
CREATE INDEX task_by_end ON task (session, state, kind, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX lane_held ON lane (host) WHERE held = 1;
CREATE INDEX lane_open ON lane (session, head_priority DESC, head_position) WHERE queued > 0 AND held = 0;
CREATE INDEX left_part_task ON left_part (task);
CREATE INDEX client_token_task ON client_token (task);
CREATE INDEX client_token_removed ON client_token (created_at) WHERE removed_as IS NOT NULL;
CREATE TRIGGER task_token_kept AFTER DELETE ON task BEGIN
    UPDATE client_token SET removed_as = iif(OLD.finished_at IS NULL, 'cancelled', OLD.state)
        WHERE task = OLD.id;
END;
CREATE INDEX task_tag_task ON task_tag (task);
CREATE INDEX session_paused ON session (id) WHERE paused_since IS NOT NULL;
CREATE INDEX task_url ON task (session, url) WHERE sought = 1 AND kind = 'download' AND finished_at IS NULL;
CREATE TRIGGER session_inserted AFTER INSERT ON session BEGIN
    INSERT INTO task_count (session, state, count) VALUES (NEW.id, 'queued', 0), (NEW.id, 'running', 0),
        (NEW.id, 'waiting', 0), (NEW.id, 'paused', 0), (NEW.id, 'completed', 0), (NEW.id, 'failed', 0),
        (NEW.id, 'cancelled', 0);
END;
CREATE TRIGGER task_inserted AFTER INSERT ON task BEGIN
    UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
    UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = NEW.lane;
END;
CREATE TRIGGER task_state_changed AFTER UPDATE OF state ON task WHEN NEW.state <> OLD.state BEGIN
    UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
    UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
    UPDATE lane SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'), (head_priority, head_position) = (
        SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
        ORDER BY priority DESC, position, id LIMIT 1)
        WHERE id = NEW.lane AND 'queued' IN (NEW.state, OLD.state);
END;
CREATE INDEX decision_open ON decision (id) WHERE state = 'open';
CREATE INDEX event_task ON event (task) WHERE filed = 1;
CREATE UNIQUE INDEX credential_place ON credential
    (owner, session, host, port, protocol, is_proxy, ifnull(realm, 0), ifnull(method, 0), username);
CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id)
    WHERE state <> 'running' AND state <> 'completed' AND state <> 'failed' AND state <> 'cancelled';
CREATE INDEX earlier_decision_task ON earlier_decision (task, id);
COMMIT;
