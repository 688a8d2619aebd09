-- The other functions for nodes, and the rights.
-- Guards are written as CASE, because for plain ones the planner prefers the index of leased jobs: to its figures, which
-- are never of this moment, that one is empty. The job's id finds one row.

CREATE FUNCTION dld.register(node text, instance uuid, pools text[], labels text[], capacity int, version text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owner text;
BEGIN
    IF node IS NULL OR node !~ '^[A-Za-z0-9._-]{1,64}$' OR instance IS NULL OR pools IS NULL OR version IS NULL
        OR capacity IS NULL OR capacity < 1
        OR EXISTS (SELECT FROM unnest(pools) p WHERE p IS NULL OR p !~ '^[A-Za-z0-9._-]{1,64}$') THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002',
            MESSAGE = 'A node needs a name, an instance, names of pools, a capacity of at least 1, and a version.';
    END IF;
    INSERT INTO dld.nodes AS k (name, instance, login, pools, labels, capacity, version, seen_at)
        VALUES (node, register.instance, session_user, ARRAY(SELECT DISTINCT unnest(register.pools)),
            coalesce(register.labels, '{}'), register.capacity, register.version, now())
        ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, login = excluded.login, pools = excluded.pools,
            labels = excluded.labels, capacity = excluded.capacity, version = excluded.version, seen_at = excluded.seen_at
        -- The name of a role that is gone is free.
        WHERE (k.login = session_user OR NOT EXISTS (SELECT FROM pg_roles WHERE rolname = k.login))
            AND (k.instance = excluded.instance OR k.seen_at < now() - interval '60 s');
    IF NOT FOUND THEN
        SELECT login INTO owner FROM dld.nodes WHERE name = node;
        IF owner <> session_user THEN
            RAISE EXCEPTION USING ERRCODE = 'DL004', MESSAGE = format('Node %s belongs to role %s.', node, owner);
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'DL003', MESSAGE = format('Another instance of node %s was seen in the last 60 s.', node);
    END IF;
END
$$;

CREATE FUNCTION dld.leases(node text)
RETURNS TABLE (id bigint, epoch bigint, pool text, spec jsonb, host text, priority int, attempt int, resume jsonb,
    lease_until timestamptz, limited boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM dld.check_login(node);
    RETURN QUERY
        SELECT j.id, j.lease_epoch, j.pool::text, j.spec::jsonb, j.host, j.priority::int, j.attempts::int, j.resume, j.lease_until,
            EXISTS (SELECT FROM dld.hosts h WHERE h.pool = j.pool AND h.host = j.host)
        FROM dld.jobs j WHERE j.state = 'leased' AND j.lease_node = node ORDER BY j.priority DESC, j.run_at, j.id;
END
$$;

CREATE FUNCTION dld.renew(node text, instance uuid, ids bigint[], epochs bigint[], progress jsonb[], lease interval,
    figures jsonb) RETURNS TABLE (id bigint, epoch bigint, verdict text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, dld, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    draining boolean;
    -- Another instance took the name over: all is lost.
    mine boolean;
BEGIN
    IF lease IS NULL OR lease <= '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = 'A lease is longer than 0 s.';
    END IF;
    UPDATE dld.nodes k SET seen_at = now(), figures = coalesce(renew.figures, k.figures)
        WHERE k.name = node AND k.instance = renew.instance AND k.login = session_user
        RETURNING k.draining INTO draining;
    mine := FOUND;
    IF NOT mine THEN
        PERFORM dld.check_login(node);
    ELSIF draining THEN
        RETURN QUERY SELECT 0::bigint, 0::bigint, 'drain';
    END IF;
    RETURN QUERY
        WITH asked AS MATERIALIZED (
            SELECT * FROM unnest(ids, epochs, progress) WITH ORDINALITY AS a (id, epoch, progress, n) WHERE a.id IS NOT NULL
        ), renewed AS (
            UPDATE dld.jobs j SET lease_until = now() + lease, progress = coalesce(nullif(a.progress, 'null'), j.progress)
            FROM (SELECT * FROM asked ORDER BY id) a
            WHERE j.id = a.id AND mine AND CASE j.state WHEN 'leased' THEN j.lease_node = node AND j.lease_epoch = a.epoch END
            RETURNING j.id, j.lease_epoch, j.cancel_requested
        )
        SELECT a.id, a.epoch, CASE WHEN r.id IS NULL THEN 'lost' WHEN r.cancel_requested THEN 'cancel' ELSE 'ok' END
        FROM asked a LEFT JOIN renewed r ON r.id = a.id AND r.lease_epoch = a.epoch ORDER BY a.n;
END
$$;

-- The state of a job that nobody holds, if the newest lease is this one and ended so: the answer to a call whose first
-- answer was lost. Otherwise 'refused'.
CREATE FUNCTION dld.told(node text, id bigint, epoch bigint, VARIADIC endings text[]) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN coalesce((
        SELECT j.state FROM dld.jobs j
        WHERE j.id = told.id AND j.state <> 'leased' AND j.history -> -1 ->> 'node' = told.node
            AND (j.history -> -1 ->> 'epoch')::bigint = told.epoch AND j.history -> -1 ->> 'end' = ANY (endings)), 'refused');
END
$$;

CREATE FUNCTION dld.finish(node text, id bigint, epoch bigint, outcome text, detail jsonb, delay interval DEFAULT '5 s')
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    answer text;
BEGIN
    IF outcome IS NULL OR outcome NOT IN ('done', 'failed', 'transient', 'cancelled') THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = 'The outcome is none of done, failed, transient and cancelled.';
    ELSIF outcome <> 'cancelled' AND (detail IS NULL OR jsonb_typeof(detail) <> 'object') THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = format('The outcome %s needs an object as its detail.', outcome);
    END IF;
    UPDATE dld.jobs j SET
        state = CASE WHEN outcome <> 'transient' THEN outcome WHEN j.cancel_requested THEN 'cancelled'
            WHEN j.attempts >= j.max_attempts THEN 'failed' ELSE 'queued' END,
        ended_at = CASE WHEN outcome <> 'transient' OR j.cancel_requested OR j.attempts >= j.max_attempts THEN now() END,
        run_at = CASE WHEN outcome <> 'transient' OR j.cancel_requested OR j.attempts >= j.max_attempts THEN j.run_at
            ELSE now() + coalesce(delay, interval '5 s') END,
        history = dld.with_entry(j.history, j.attempts, j.lease_epoch, node,
            CASE WHEN outcome <> 'transient' THEN outcome WHEN j.cancel_requested THEN 'cancelled'
                WHEN j.attempts >= j.max_attempts THEN 'failed' ELSE 'requeued' END,
            CASE WHEN outcome <> 'done' THEN detail ->> 'code' END),
        lease_node = NULL, lease_until = NULL, resume = NULL, result = CASE outcome WHEN 'done' THEN detail END,
        error = CASE outcome WHEN 'done' THEN NULL WHEN 'cancelled' THEN j.error ELSE detail END
    WHERE j.id = finish.id AND CASE j.state WHEN 'leased' THEN j.lease_node = node AND j.lease_epoch = epoch END
        AND EXISTS (SELECT FROM dld.nodes k WHERE k.name = node AND k.login = session_user)
    RETURNING j.state INTO answer;
    IF answer IS NULL THEN
        PERFORM dld.check_login(node);
    END IF;
    RETURN coalesce(answer, CASE outcome
        WHEN 'transient' THEN dld.told(node, id, epoch, 'requeued', 'failed', 'cancelled')
        ELSE dld.told(node, id, epoch, outcome) END);
END
$$;

CREATE FUNCTION dld.release(node text, id bigint, epoch bigint, resume jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    answer text;
BEGIN
    PERFORM dld.check_login(node);
    UPDATE dld.jobs j SET
        state = CASE WHEN j.cancel_requested THEN 'cancelled' ELSE 'queued' END, lease_node = NULL, lease_until = NULL,
        ended_at = CASE WHEN j.cancel_requested THEN now() END, run_at = now(), attempts = greatest(j.attempts - 1, 0),
        resume = CASE WHEN NOT j.cancel_requested THEN release.resume END,
        history = dld.with_entry(j.history, j.attempts, j.lease_epoch, node, 'released', NULL)
    WHERE j.id = release.id AND CASE j.state WHEN 'leased' THEN j.lease_node = node AND j.lease_epoch = epoch END
    RETURNING j.state INTO answer;
    RETURN coalesce(answer, dld.told(node, id, epoch, 'released'));
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dld FROM PUBLIC;
REVOKE ALL ON DOMAIN dld.task_spec, dld.name, dld.priority, dld.attempts, dld.max_attempts, dld.token FROM PUBLIC;
GRANT USAGE ON SCHEMA dld TO dld_producer, dld_operator, dld_node;
-- Each program reads the versions first.
GRANT SELECT ON dld.meta TO dld_producer, dld_operator, dld_node;

GRANT SELECT ON dld.overview TO dld_producer, dld_operator;
GRANT EXECUTE ON FUNCTION
    dld.enqueue(text, jsonb, int, timestamptz, int, text, text[]),
    dld.enqueue_many(text, jsonb[], int, timestamptz, int, text[], text[]),
    dld.cancel(bigint),
    dld.retry(bigint, int)
    TO dld_producer, dld_operator;

GRANT SELECT ON dld.limits, dld.nodes TO dld_operator;
GRANT EXECUTE ON FUNCTION
    dld.set_limit(text, text, int),
    dld.drain(text, boolean, interval),
    dld.prune(interval, int)
    TO dld_operator;

GRANT SELECT ON dld.nodes TO dld_node;
GRANT EXECUTE ON FUNCTION
    dld.register(text, uuid, text[], text[], int, text),
    dld.claim(text, uuid, int, interval),
    dld.leases(text),
    dld.renew(text, uuid, bigint[], bigint[], jsonb[], interval, jsonb),
    dld.finish(text, bigint, bigint, text, jsonb, interval),
    dld.release(text, bigint, bigint, jsonb)
    TO dld_node;

INSERT INTO dld.meta (version, compatible_from) VALUES (1, 1);
