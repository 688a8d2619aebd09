-- Tables, indexes and views of version 1.
CREATE SCHEMA dld;

CREATE TABLE dld.meta (
    version int NOT NULL,
    compatible_from int NOT NULL,
    retention interval NOT NULL DEFAULT '30 days' CHECK (retention >= '0'),
    pruned_at timestamptz,
    migrated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (compatible_from <= version)
);
CREATE UNIQUE INDEX meta_has_one_row ON dld.meta ((true));

-- The CHECK of a domain runs when a value comes in. That of a table runs at each update, and PostgreSQL parses it anew for each
-- statement: a list of constants is dear, a pattern is cheap.
CREATE DOMAIN dld.name AS text CHECK (VALUE ~ '^[A-Za-z0-9._-]{1,64}$');
CREATE DOMAIN dld.task_spec AS jsonb
    CONSTRAINT task_spec_is_object CHECK (jsonb_typeof(VALUE) = 'object')
    CONSTRAINT task_spec_size CHECK (octet_length(VALUE::text) <= 65536);

CREATE DOMAIN dld.priority AS integer CHECK (VALUE BETWEEN -100 AND 100);
CREATE DOMAIN dld.attempts AS integer CHECK (VALUE >= 0);
CREATE DOMAIN dld.max_attempts AS integer CHECK (VALUE BETWEEN 1 AND 100);
CREATE DOMAIN dld.token AS text CHECK (char_length(VALUE) BETWEEN 1 AND 200);

CREATE TABLE dld.jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool dld.name NOT NULL,
    spec dld.task_spec NOT NULL,
    host text NOT NULL,
    -- '', or the host if it has a limit. A hint: claims correct it, and see hosts for the limit itself.
    lane text NOT NULL DEFAULT '',
    priority dld.priority NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'queued' CHECK (state ~ '^(queued|leased|done|failed|cancelled)$'),
    attempts dld.attempts NOT NULL DEFAULT 0,
    max_attempts dld.max_attempts NOT NULL DEFAULT 5,
    token dld.token,
    labels text[] NOT NULL DEFAULT '{}',
    lease_node text,
    lease_until timestamptz,
    lease_epoch bigint NOT NULL DEFAULT 0,
    cancel_requested boolean NOT NULL DEFAULT false,
    progress jsonb,
    resume jsonb,
    result jsonb,
    error jsonb,
    history jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz NOT NULL DEFAULT now(),
    leased_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT jobs_lease CHECK ((lease_node IS NOT NULL) = (state = 'leased')
                                 AND (lease_until IS NOT NULL) = (state = 'leased')),
    CONSTRAINT jobs_result CHECK ((result IS NOT NULL) = (state = 'done')),
    CONSTRAINT jobs_error CHECK (CASE state WHEN 'failed' THEN error IS NOT NULL WHEN 'done' THEN error IS NULL ELSE true END),
    CONSTRAINT jobs_ended CHECK ((ended_at IS NOT NULL) = (state ~ '^(done|failed|cancelled)$'))
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.5,
    autovacuum_vacuum_cost_delay = 0
);

-- No index holds lease_until or progress, so that renewals stay on their page.
CREATE UNIQUE INDEX jobs_token ON dld.jobs (token) WHERE token IS NOT NULL;
-- A level is (pool, lane, labels, priority). A claim finds the levels by one probe each and then reads only levels that the
-- node may take from: no backlog of a full host, of other labels, or of the future lies in its way.
CREATE INDEX jobs_queued ON dld.jobs (pool, lane, labels, (-priority), run_at, id) WHERE state = 'queued';
CREATE INDEX jobs_leased ON dld.jobs (pool, host) WHERE state = 'leased';
-- For prune alone; it gets one entry per job, at its end.
CREATE INDEX jobs_ended ON dld.jobs (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE dld.nodes (
    name dld.name PRIMARY KEY,
    instance uuid NOT NULL,
    -- The role that registered it.
    login text NOT NULL,
    pools text[] NOT NULL,
    labels text[] NOT NULL,
    capacity int NOT NULL,
    version text NOT NULL,
    draining boolean NOT NULL DEFAULT false,
    drain_limit interval,
    seen_at timestamptz NOT NULL,
    figures jsonb
) WITH (fillfactor = 50);

CREATE TABLE dld.hosts (
    pool dld.name,
    host text CHECK (host <> ''),
    max_leases int NOT NULL CHECK (max_leases >= 1),
    PRIMARY KEY (pool, host)
);

CREATE VIEW dld.overview AS
    -- Base types: drivers do not know arrays of domains.
    SELECT id, pool::text AS pool, host, priority::int AS priority, run_at, state, attempts::int AS attempts,
        max_attempts::int AS max_attempts, token::text AS token, labels, lease_node, lease_until,
        lease_epoch, cancel_requested, progress, result, error, history, created_at, leased_at, ended_at,
        coalesce(spec ->> 'kind', 'download') AS kind,
        -- A fragment never reaches a server, and often is a key: it goes with the query.
        regexp_replace(regexp_replace(spec ->> 'url', '^([^:/?#]*://)[^/?#]*@', '\1'), '[?#].*$', '') AS url,
        state = 'leased' AND lease_until < now() AS late
    FROM dld.jobs;

CREATE VIEW dld.limits AS
    SELECT pool, host, max_leases,
        (SELECT count(*)::int FROM dld.jobs j WHERE j.state = 'leased' AND j.pool = h.pool AND j.host = h.host) AS in_flight
    FROM dld.hosts h;

-- Entries of final states are told here, so that no way into one can forget it.
CREATE FUNCTION dld.announce() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
BEGIN
    IF NEW.state <> 'queued' THEN
        PERFORM pg_notify('dld_ends', format('{"id":%s,"state":"%s"}', NEW.id, NEW.state));
    ELSIF NEW.run_at <= now() THEN
        -- PostgreSQL sends equal notifications of one transaction once.
        PERFORM pg_notify('dld_jobs', NEW.pool);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER jobs_announce AFTER UPDATE OF state ON dld.jobs
    FOR EACH ROW WHEN (NEW.state <> OLD.state AND NEW.state <> 'leased') EXECUTE FUNCTION dld.announce();
