-- The claim. Two claims never wait for each other: what one holds, the other leaves out.

-- The history with the entry of a lease that ended; the newest entry is the last.
CREATE FUNCTION dld.with_entry(history jsonb, attempt int, epoch bigint, node text, ending text, code text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
BEGIN
    RETURN CASE WHEN jsonb_array_length(history) >= 20 THEN history - 0 ELSE history END || jsonb_build_object(
        'attempt', attempt, 'epoch', epoch, 'node', node, 'end', ending, 'code', left(code, 100),
        'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
END
$$;

-- A node belongs to the login role that registered it.
CREATE FUNCTION dld.check_login(node text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM dld.nodes WHERE name = node AND login = session_user) THEN
        RAISE EXCEPTION USING ERRCODE = 'DL004', MESSAGE = format('Node %s is not registered by role %s.', node, session_user);
    END IF;
END
$$;

-- Ends the expired leases that nobody may get again, and tells whether there is any expired lease. Leases from before
-- `since` have not expired.
CREATE FUNCTION dld.bury(pools text[], since timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, dld, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM dld.jobs WHERE state = 'leased' AND pool = ANY (pools) AND lease_until < now() AND leased_at >= since) THEN
        RETURN false;
    END IF;
    UPDATE dld.jobs j SET
        state = CASE WHEN j.cancel_requested THEN 'cancelled' ELSE 'failed' END,
        lease_node = NULL, lease_until = NULL, ended_at = now(), resume = NULL,
        error = CASE WHEN j.cancel_requested THEN j.error ELSE jsonb_build_object(
            'code', 'lease.expired', 'message', 'The lease of the last attempt expired.', 'retryable', true,
            'details', '{}'::jsonb, 'node', j.lease_node, 'attempt', j.attempts,
            'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END,
        history = dld.with_entry(j.history, j.attempts, j.lease_epoch, j.lease_node, 'expired',
            CASE WHEN NOT j.cancel_requested THEN 'lease.expired' END)
    FROM (
        SELECT id, lease_epoch FROM dld.jobs
        WHERE state = 'leased' AND pool = ANY (pools) AND lease_until < now() AND leased_at >= since
            AND (cancel_requested OR attempts >= max_attempts)
        FOR UPDATE SKIP LOCKED) late
    WHERE j.id = late.id AND CASE j.state WHEN 'leased' THEN j.lease_epoch = late.lease_epoch END;
    RETURN true;
END
$$;

-- The levels of the pools, numbered from 1, that a node with these labels may take from.
CREATE FUNCTION dld.levels(pools text[], labels text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, dld, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH RECURSIVE level AS (
            SELECT f.* FROM unnest(pools) AS p (name) CROSS JOIN LATERAL (
                SELECT j.pool, j.lane, j.labels, -j.priority AS rank FROM dld.jobs j
                WHERE j.state = 'queued' AND j.pool = p.name
                ORDER BY j.lane, j.labels, -j.priority LIMIT 1) f
            UNION ALL
            SELECT f.* FROM level l CROSS JOIN LATERAL (
                SELECT j.pool, j.lane, j.labels, -j.priority AS rank FROM dld.jobs j
                WHERE j.state = 'queued' AND j.pool = l.pool AND (j.lane, j.labels, -j.priority) > (l.lane, l.labels, l.rank)
                ORDER BY j.lane, j.labels, -j.priority LIMIT 1) f
        )
        SELECT jsonb_agg(jsonb_build_object('n', n, 'pool', pool, 'lane', lane, 'labels', labels, 'rank', rank))
        FROM (SELECT *, row_number() OVER () AS n FROM level l WHERE l.labels <@ levels.labels) numbered);
END
$$;

CREATE FUNCTION dld.claim(node text, instance uuid, n int, lease interval)
RETURNS TABLE (id bigint, epoch bigint, pool text, spec jsonb, host text, priority int, attempt int, resume jsonb,
    lease_until timestamptz, limited boolean)
LANGUAGE plpgsql SECURITY DEFINER
-- The queue of the moment is never the one that the planner's figures describe; the indexes are always right.
SET search_path = pg_catalog, dld, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    me record;
    -- While the server was away, no node could renew. For one more lease, those from before its start are not taken.
    since timestamptz := CASE WHEN now() BETWEEN pg_postmaster_start_time() AND pg_postmaster_start_time() + lease
        THEN pg_postmaster_start_time() ELSE '-infinity' END;
    need int := least(n, 1000);
    looked boolean;
    late boolean;
    levels jsonb;
    -- Whether all that is due is in one level without a limit.
    alone boolean;
    -- Levels without another job that is free.
    spent bigint[] := '{}';
    -- Limited hosts, as "pool host": rows locked by this claim, and by others.
    held text[] := '{}';
    busy text[] := '{}';
    rests int := 0;
    plan record;
    taken record;
    got bigint[] := '{}';
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'claim needs READ COMMITTED: it counts leases after it locked.';
    ELSIF lease IS NULL OR lease <= '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = 'A lease is longer than 0 s.';
    END IF;
    UPDATE dld.nodes SET seen_at = now() WHERE name = node AND instance = claim.instance AND login = session_user
        RETURNING pools, labels, draining INTO me;
    IF NOT FOUND THEN
        PERFORM dld.check_login(node);
        RETURN;
    ELSIF me.draining OR need IS NULL OR need < 1 THEN
        RETURN;
    END IF;
    IF (SELECT coalesce(pruned_at, '-infinity') < now() - interval '1 hour' FROM dld.meta)
        AND pg_try_advisory_xact_lock(hashtext('dld'), hashtext('prune')) AND dld.prune() < 1000 THEN
        UPDATE dld.meta SET pruned_at = now();
    END IF;
    -- One of many claims at a time is enough to look for expired leases, unless the queue has too little.
    looked := pg_try_advisory_xact_lock(hashtext('dld'), hashtext('late'));
    late := looked AND dld.bury(me.pools, since);
    levels := dld.levels(me.pools, me.labels);
    alone := NOT late AND jsonb_array_length(levels) = 1 AND levels -> 0 ->> 'lane' = '';

    WHILE need > 0 LOOP
        IF alone THEN
            -- Nothing to compare. If it has fewer jobs than wanted, the next round looks closer.
            SELECT jsonb_build_object(1, need) AS wants, NULL::bigint[] AS late INTO plan;
        ELSE
            -- Which levels the next jobs in order belong to, and how many of each. Nothing is locked yet, so that the claim
            -- locks no more jobs than it takes.
            WITH level AS (
                SELECT * FROM jsonb_to_recordset(levels) AS l (n bigint, pool text, lane text, labels text[], rank int)
                WHERE l.n <> ALL (spent) AND l.pool || ' ' || l.lane <> ALL (busy)
            ), room AS (
                SELECT l.*, least(need, h.max_leases - (
                    SELECT count(*) FROM dld.jobs j WHERE j.state = 'leased' AND j.pool = h.pool AND j.host = h.host)) AS room
                FROM level l LEFT JOIN dld.hosts h ON h.pool = l.pool AND h.host = l.lane
            ), due AS (
                SELECT r.n, r.pool, r.lane, r.rank, j.run_at, j.id, j.host, r.room,
                    row_number() OVER (PARTITION BY r.pool, r.lane ORDER BY r.rank, j.run_at, j.id) AS place
                FROM room r CROSS JOIN LATERAL (
                    SELECT j.run_at, j.id, j.host FROM dld.jobs j
                    WHERE j.state = 'queued' AND j.pool = r.pool AND j.lane = r.lane AND j.labels = r.labels
                        AND -j.priority = r.rank AND j.run_at <= now()
                    ORDER BY j.run_at, j.id LIMIT greatest(r.room, 0)) j
                UNION ALL
                -- An expired lease counts as in flight. To take it over needs no more room than the live ones leave.
                SELECT 0, j.pool, j.host, -j.priority, j.run_at, j.id, j.host, least(need, h.max_leases - (
                        SELECT count(*) FROM dld.jobs f
                        WHERE f.state = 'leased' AND f.pool = h.pool AND f.host = h.host
                            AND (f.lease_until >= now() OR f.leased_at < since))),
                    row_number() OVER (PARTITION BY j.pool, j.host ORDER BY -j.priority, j.run_at, j.id)
                FROM dld.jobs j LEFT JOIN dld.hosts h ON h.pool = j.pool AND h.host = j.host
                WHERE late AND j.state = 'leased' AND j.pool = ANY (me.pools) AND j.lease_until < now() AND j.leased_at >= since
                    AND j.labels <@ me.labels AND NOT j.cancel_requested AND j.attempts < j.max_attempts
                    AND j.pool || ' ' || j.host <> ALL (busy)
            ), top AS (
                SELECT * FROM due WHERE place <= room ORDER BY rank, run_at, id LIMIT need
            ), known AS (
                SELECT t.*, h.host IS NOT NULL AS limited, h.pool || ' ' || h.host AS name
                FROM top t LEFT JOIN dld.hosts h ON h.pool = t.pool AND h.host = t.host
            )
            SELECT count(*) AS found,
                (SELECT jsonb_object_agg(k.n, k.jobs) FROM (SELECT n, count(*) AS jobs FROM known WHERE n > 0 GROUP BY n) k) AS wants,
                array_agg(id) FILTER (WHERE n = 0) AS late,
                array_agg(id) FILTER (WHERE n > 0 AND lane = '' AND limited) AS strays,
                array_agg(DISTINCT name) FILTER (WHERE limited AND name <> ALL (held)) AS locks
            INTO plan FROM known;

            IF plan.found = 0 THEN
                IF NOT looked THEN
                    looked := true;
                    late := dld.bury(me.pools, since);
                    CONTINUE WHEN late;
                END IF;
                -- Whoever holds a limited host commits within milliseconds. A claim that has nothing else, and holds nothing
                -- that others need, waits for that a little.
                EXIT WHEN busy = '{}' OR got <> '{}' OR held <> '{}' OR rests = 20;
                rests := rests + 1;
                busy := '{}';
                PERFORM pg_sleep(0.005);
                CONTINUE;
            END IF;
            IF plan.strays IS NOT NULL THEN
                -- Their host got its limit while they were enqueued or leased.
                UPDATE dld.jobs j SET lane = j.host FROM (
                    SELECT j.id FROM dld.jobs j WHERE j.id = ANY (plan.strays) AND CASE j.state WHEN 'queued' THEN j.lane = '' END
                    FOR UPDATE SKIP LOCKED) s
                WHERE j.id = s.id;
                IF FOUND THEN
                    levels := dld.levels(me.pools, me.labels);
                    spent := '{}';
                    CONTINUE;
                END IF;
            END IF;
            IF plan.locks IS NOT NULL THEN
                -- The next round counts again, under the locks.
                WITH locked AS (
                    SELECT h.pool || ' ' || h.host AS name FROM dld.hosts h
                    JOIN unnest(plan.locks) AS l (name) ON h.pool = split_part(l.name, ' ', 1) AND h.host = split_part(l.name, ' ', 2)
                    ORDER BY h.pool, h.host FOR UPDATE OF h SKIP LOCKED)
                SELECT held || array_agg(name) FILTER (WHERE mine), busy || array_agg(name) FILTER (WHERE NOT mine)
                INTO held, busy FROM (
                    SELECT l.name, EXISTS (SELECT FROM locked k WHERE k.name = l.name) AS mine
                    FROM unnest(plan.locks) AS l (name)) l;
                CONTINUE;
            END IF;
        END IF;

        WITH want AS (
            SELECT l.*, (plan.wants ->> l.n::text)::int AS jobs
            FROM jsonb_to_recordset(levels) AS l (n bigint, pool text, lane text, labels text[], rank int)
            WHERE plan.wants ? l.n::text
        ), queued AS MATERIALIZED (
            SELECT w.n, j.id, j.lease_epoch FROM want w CROSS JOIN LATERAL (
                SELECT j.id, j.lease_epoch FROM dld.jobs j
                WHERE j.state = 'queued' AND j.pool = w.pool AND j.lane = w.lane AND j.labels = w.labels
                    AND -j.priority = w.rank AND j.run_at <= now()
                    AND (w.lane <> '' OR NOT EXISTS (SELECT FROM dld.hosts h WHERE h.pool = j.pool AND h.host = j.host))
                ORDER BY j.run_at, j.id LIMIT w.jobs FOR UPDATE OF j SKIP LOCKED) j
        ), expired AS MATERIALIZED (
            SELECT j.id, j.lease_epoch FROM dld.jobs j
            WHERE j.id = ANY (plan.late) AND CASE j.state WHEN 'leased' THEN
                j.lease_until < now() AND j.leased_at >= since AND NOT j.cancel_requested AND j.attempts < j.max_attempts END
            FOR UPDATE OF j SKIP LOCKED
        ), leased AS (
            UPDATE dld.jobs j SET
                state = 'leased', lease_node = node, lease_until = now() + lease, lease_epoch = j.lease_epoch + 1,
                attempts = j.attempts + 1, leased_at = now(), progress = NULL,
                -- What a node that vanished does to the bytes on a shared folder is not known.
                resume = CASE j.state WHEN 'queued' THEN j.resume END,
                history = CASE j.state WHEN 'queued' THEN j.history
                    ELSE dld.with_entry(j.history, j.attempts, j.lease_epoch, j.lease_node, 'expired', NULL) END
            FROM (SELECT *, 'queued' AS state FROM queued UNION ALL SELECT 0, *, 'leased' FROM expired) p
            WHERE j.id = p.id AND j.state = p.state AND j.lease_epoch = p.lease_epoch
            RETURNING j.id, p.n
        )
        SELECT array_agg(id) AS ids, count(*) AS jobs, count(*) FILTER (WHERE n = 0) AS late,
            ARRAY(SELECT w.n FROM want w WHERE w.jobs > (SELECT count(*) FROM leased l WHERE l.n = w.n)) AS spent
        INTO taken FROM leased;
        got := got || taken.ids;
        need := need - taken.jobs;
        spent := CASE WHEN alone THEN '{}' ELSE spent || taken.spent END;
        alone := false;
        late := late AND taken.late = coalesce(cardinality(plan.late), 0);
    END LOOP;

    RETURN QUERY
        SELECT j.id, j.lease_epoch, j.pool::text, j.spec::jsonb, j.host, j.priority::int, j.attempts::int, j.resume, j.lease_until,
            EXISTS (SELECT FROM dld.hosts h WHERE h.pool = j.pool AND h.host = j.host)
        FROM dld.jobs j WHERE j.id = ANY (got) ORDER BY j.priority DESC, j.run_at, j.id;
END
$$;
