-- Functions for producers and operators.

-- '' for URLs without a host (file, data, some helpers); null for a URL that has none but needs one.
CREATE FUNCTION dld.host_of(url text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
DECLARE
    -- Scheme, name and port. User info ends at the last @ of the authority (RFC 3986, section 3.2).
    parts text[] := regexp_match(url, '^([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\[:space:][:cntrl:]]*@)?'
        || '(\[[0-9A-Fa-f:.]+\]|[^][/?#@:\\[:space:][:cntrl:]]+)(?::([0-9]{0,5}))?(?:[/?#]|$)');
    scheme text := lower(parts[1]);
    port int := nullif(parts[3], '');
BEGIN
    IF parts IS NULL THEN
        RETURN CASE WHEN url ~* '^(https?|ftps?|sftp):' OR url !~ '^[A-Za-z][A-Za-z0-9+.-]*:' THEN NULL ELSE '' END;
    END IF;
    IF port > 65535 OR length(parts[2]) > 255 THEN
        RETURN NULL;
    END IF;
    RETURN lower(nullif(rtrim(parts[2], '.'), '')) || CASE
        WHEN port IS NULL
            OR port = CASE scheme WHEN 'http' THEN 80 WHEN 'https' THEN 443 WHEN 'ftp' THEN 21 WHEN 'ftps' THEN 990
                                  WHEN 'sftp' THEN 22 END THEN ''
        ELSE ':' || port END;
END
$$;

-- What is wrong with a spec; null if nothing is.
CREATE FUNCTION dld.fault_of(spec jsonb, host text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN spec IS NULL OR jsonb_typeof(spec) <> 'object' THEN 'is not an object'
        WHEN octet_length(spec::text) > 65536 THEN 'is longer than 65536 bytes'
        WHEN jsonb_typeof(spec -> 'url') IS DISTINCT FROM 'string' OR spec ->> 'url' = '' THEN 'has no url'
        WHEN host IS NULL THEN 'has a url without a host'
        WHEN spec ? 'kind' AND spec -> 'kind' NOT IN ('"download"', '"upload"', '"data"') THEN 'has an unknown kind'
        WHEN spec ?| ARRAY['clientToken', 'resumeData'] THEN 'has clientToken or resumeData'
    END;
END
$$;

CREATE FUNCTION dld.enqueue_many(pool text, specs jsonb[], priority int DEFAULT 0, run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT 5, tokens text[] DEFAULT NULL, labels text[] DEFAULT '{}') RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    size int := coalesce(cardinality(specs), 0);
    due timestamptz := coalesce(enqueue_many.run_at, now());
    hosts text[] := ARRAY(SELECT dld.host_of(s ->> 'url') FROM unnest(specs) WITH ORDINALITY AS g (s, n) ORDER BY n);
    ids bigint[];
    made int;
    fault text := CASE
        WHEN pool IS NULL OR pool !~ '^[A-Za-z0-9._-]{1,64}$' THEN 'The pool is not a name.'
        WHEN priority IS NULL OR priority NOT BETWEEN -100 AND 100 THEN 'The priority is not from -100 to 100.'
        WHEN max_attempts IS NULL OR max_attempts NOT BETWEEN 1 AND 100 THEN 'max_attempts is not from 1 to 100.'
        WHEN labels IS NULL OR array_position(labels, NULL) IS NOT NULL OR array_ndims(labels) > 1
            OR octet_length(array_to_string(labels, ',')) > 1000 THEN 'The labels are not at most 1000 bytes of texts.'
        WHEN size > 10000 THEN 'One call takes at most 10000 specs.'
        WHEN cardinality(tokens) <> size THEN 'There are not as many tokens as specs.'
        WHEN EXISTS (SELECT FROM unnest(tokens) t WHERE char_length(t) NOT BETWEEN 1 AND 200)
            THEN 'A token has 1 to 200 characters.' END;
BEGIN
    fault := coalesce(fault, (
        SELECT format('Spec %s %s.', n, f) FROM unnest(specs, hosts) WITH ORDINALITY AS g (s, h, n), dld.fault_of(s, h) f
        WHERE f IS NOT NULL ORDER BY n LIMIT 1));
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = fault;
    END IF;
    ids := ARRAY(SELECT nextval('dld.jobs_id_seq') FROM generate_series(1, size));
    -- In the order of tokens, so that two calls with the same ones cannot wait for each other.
    INSERT INTO dld.jobs (id, pool, spec, host, lane, priority, run_at, max_attempts, token, labels)
        OVERRIDING SYSTEM VALUE
        SELECT g.id, enqueue_many.pool, g.spec, g.host, coalesce(h.host, ''), enqueue_many.priority, due,
            enqueue_many.max_attempts, g.token, enqueue_many.labels
        FROM unnest(ids, specs, hosts, tokens) AS g (id, spec, host, token)
        LEFT JOIN dld.hosts h ON h.pool = enqueue_many.pool AND h.host = g.host
        ORDER BY g.token, g.id
        ON CONFLICT (token) WHERE token IS NOT NULL DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made > 0 AND due <= now() THEN
        PERFORM pg_notify('dld_jobs', enqueue_many.pool);
    END IF;
    IF made < size THEN
        IF EXISTS (SELECT FROM unnest(specs, tokens) AS g (spec, token) JOIN dld.jobs j ON j.token = g.token
                   WHERE j.pool <> enqueue_many.pool OR j.spec::jsonb <> g.spec) THEN
            RAISE EXCEPTION USING ERRCODE = 'DL001', MESSAGE = 'A token belongs to a job with another pool or spec.';
        END IF;
        ids := ARRAY(SELECT CASE WHEN g.token IS NULL THEN g.id ELSE j.id END
                     FROM unnest(ids, tokens) WITH ORDINALITY AS g (id, token, n)
                     LEFT JOIN dld.jobs j ON j.token = g.token ORDER BY n);
        IF array_position(ids, NULL) IS NOT NULL THEN
            -- Pruned between the two statements. Its token is free again, and a repetition makes the job.
            RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'A job with a token of this call was just removed.';
        END IF;
    END IF;
    RETURN QUERY SELECT unnest(ids);
END
$$;

CREATE FUNCTION dld.enqueue(pool text, spec jsonb, priority int DEFAULT 0, run_at timestamptz DEFAULT NULL,
    max_attempts int DEFAULT 5, token text DEFAULT NULL, labels text[] DEFAULT '{}') RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
    SELECT dld.enqueue_many(pool, ARRAY[spec], priority, run_at, max_attempts, ARRAY[token], labels)
$$;

CREATE FUNCTION dld.cancel(id bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    answer text;
    holder text;
BEGIN
    UPDATE dld.jobs j SET
        state = CASE j.state WHEN 'queued' THEN 'cancelled' ELSE j.state END,
        ended_at = CASE j.state WHEN 'queued' THEN now() END,
        cancel_requested = j.state = 'leased'
    WHERE j.id = cancel.id AND (j.state = 'queued' OR j.state = 'leased' AND NOT j.cancel_requested)
    RETURNING j.state, j.lease_node INTO answer, holder;
    IF holder IS NOT NULL THEN
        PERFORM pg_notify('dld_control', holder);
    END IF;
    RETURN coalesce(answer, (SELECT j.state FROM dld.jobs j WHERE j.id = cancel.id));
END
$$;

CREATE FUNCTION dld.retry(id bigint, max_attempts int DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    answer text;
BEGIN
    IF max_attempts NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = 'max_attempts is not from 1 to 100.';
    END IF;
    UPDATE dld.jobs j SET state = 'queued', attempts = 0, run_at = now(), cancel_requested = false, ended_at = NULL,
        max_attempts = coalesce(retry.max_attempts, j.max_attempts)
    WHERE j.id = retry.id AND j.state IN ('failed', 'cancelled')
    RETURNING j.state INTO answer;
    RETURN coalesce(answer, (SELECT j.state FROM dld.jobs j WHERE j.id = retry.id));
END
$$;

CREATE FUNCTION dld.set_limit(pool text, host text, max_leases int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted text := CASE WHEN max_leases IS NULL THEN '' ELSE lower(host) END;
BEGIN
    IF pool IS NULL OR pool !~ '^[A-Za-z0-9._-]{1,64}$' OR host IS NULL OR host = '' OR max_leases < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'DL002', MESSAGE = 'A limit needs a pool, a host, and a number of at least 1.';
    END IF;
    IF max_leases IS NULL THEN
        DELETE FROM dld.hosts h WHERE h.pool = set_limit.pool AND h.host = lower(set_limit.host);
    ELSE
        INSERT INTO dld.hosts AS h VALUES (set_limit.pool, wanted, set_limit.max_leases)
            ON CONFLICT (pool, host) DO UPDATE SET max_leases = excluded.max_leases;
    END IF;
    -- A job that somebody else changes at the moment stays in its lane; the claim that meets it puts that right.
    UPDATE dld.jobs j SET lane = wanted FROM (
        SELECT q.id FROM dld.jobs q
        WHERE q.state = 'queued' AND q.pool = set_limit.pool AND q.host = lower(set_limit.host) AND q.lane <> wanted
        FOR UPDATE SKIP LOCKED) q
    WHERE j.id = q.id;
END
$$;

CREATE FUNCTION dld.drain(node text, on_ boolean DEFAULT true, drain_limit interval DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dld, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE dld.nodes SET draining = coalesce(on_, true), drain_limit = CASE WHEN on_ IS NOT FALSE THEN drain.drain_limit END
    WHERE name = node;
    IF FOUND THEN
        PERFORM pg_notify('dld_control', node);
    END IF;
    RETURN FOUND;
END
$$;

CREATE FUNCTION dld.prune(older interval DEFAULT NULL, batch int DEFAULT 1000) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, dld, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    removed int;
BEGIN
    DELETE FROM dld.jobs j USING (
        SELECT id FROM dld.jobs
        WHERE ended_at < now() - coalesce(older, (SELECT retention FROM dld.meta))
        ORDER BY ended_at LIMIT greatest(coalesce(batch, 1000), 0) FOR UPDATE SKIP LOCKED) old
    WHERE j.id = old.id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
