import Testing
import TransferModel

@testable import TransferStore

/// The rules of the tables: what contradicts itself is refused, whatever code writes it.
@Suite struct ConstraintTests {
    let fixture = Fixture()

    @Test(arguments: [
        "state = 'resting'",
        "state = 'waiting'",
        "reason = 'retry'",
        "state = 'waiting', reason = 'boredom'",
        "state = 'completed'",
        "finished_at = 1",
        "state = 'failed', finished_at = 1, budget_mark = NULL",
        "next_attempt_at = 1",
        "attempts = -1",
        "failures_in_row = -1",
        "integrity_restarts = -1",
        "budget_used = -0.5",
        "state = 'paused', budget_mark = 5",
        "budget_mark = NULL, expires_at = 5",
        "priority = 1.5",
        "priority = 'high'",
        "kind = 'torrent'",
        "result_bytes = 5",
        "result_bytes = -1, result_verified = 1",
        "result_bytes = 1, result_verified = 2",
        "session = 99",
        "short_body = 'x'",
        "result_changed_ns = 1", "result_crc32c = 1", "result_inode = 1, result_crc32c = -1",
        "result_inode = 1, result_crc32c = 4294967296",
    ])
    func aRowThatContradictsItselfIsRefused(_ change: String) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let error = await transferError {
            try await store.write { try $0.execute("UPDATE task SET \(change) WHERE id = ?", id.rawValue) }
        }
        #expect(error?.code == .internal)
        let task = try await store.read { try $0.task(id) }
        #expect(task?.status == status(.queued))
    }

    @Test(arguments: [
        "INSERT INTO session VALUES (9, -1, 'x', 'background', 'active', '{}', 0, NULL, 0)",
        "INSERT INTO session VALUES (9, 4294967296, 'x', 'background', 'active', '{}', 0, NULL, 0)",
        "INSERT INTO session VALUES (9, 1, '', 'background', 'active', '{}', 0, NULL, 0)",
        "INSERT INTO session VALUES (9, 1, 'x', 'eternal', 'active', '{}', 0, NULL, 0)",
        "INSERT INTO session VALUES (9, 1, 'x', 'background', 'asleep', '{}', 0, NULL, 0)",
        "INSERT INTO event VALUES (0, 0, 'task.added', 1, 's', NULL, NULL, NULL)",
        "INSERT INTO event VALUES (1, 0, 'task.progress', 1, 's', NULL, NULL, NULL)",
        "INSERT INTO event VALUES (1, 'now', 'task.added', 1, 's', NULL, NULL, NULL)",
        "INSERT INTO subscriber VALUES (1, '', 0)",
        "INSERT INTO subscriber VALUES (1, 'x', -1)",
        "INSERT INTO checkpoint VALUES (99, 0, NULL, NULL, NULL, NULL, NULL, '/p', 1, 1, NULL, NULL, NULL)",
        "UPDATE counter SET value = -1",
        "UPDATE lane SET held = 2",
        "INSERT INTO upload VALUES (99, '{}')",
        "INSERT INTO source VALUES (99, 1, 1, 1, 1)",
        "INSERT INTO source VALUES (1, 1, 1, -1, 1)",
        "INSERT INTO source VALUES (1, 1, 1, 'long', 1)",
        "INSERT INTO body (task, role, content) VALUES (99, 'request', x'00')",
        "INSERT INTO body (task, role, content) VALUES (1, 'trailer', x'00')",
        "INSERT INTO body (task, role, content) VALUES (1, 'request', 'text')",
        "INSERT INTO upload_ending VALUES (1, 1, 1, 's', '{}', '{}', -1, 0, 0)",
        "INSERT INTO upload_ending VALUES (1, 1, 1, 's', '{}', NULL, 0, 0, 0)",
        "INSERT INTO upload_ending VALUES (1, 'a', 1, 's', '{}', '{}', 0, 0, 0)",
        "INSERT INTO left_part VALUES (-1, '/f', 'n', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '', 'n', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', '', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 'one', NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 1, 'disk', NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 1, NULL, NULL, NULL)",
    ])
    func aBadRowOfAnotherTableIsRefused(_ sql: String) async throws {
        let store = try fixture.open()
        #expect(try await store.add(newTask()) == TaskID(1))
        let error = await transferError { try await store.write { try $0.execute(sql) } }
        #expect(error?.code == .internal && error?.message.contains("values for") == false, "\(error?.message ?? "")")
    }

    private func stored(ranges: [ByteRange]) -> Checkpoint {
        Checkpoint(offset: 5, total: 100, partPath: "/p", device: 1, inode: 2, ranges: ranges)
    }

    @Test(arguments: ["ranges = '[]'", "ranges = '{}'", "ranges = 'no'", "ranges = '7'", "origin = ''"])
    func aBadCheckpointIsRefused(_ change: String) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { try $0.setCheckpoint(id, self.stored(ranges: [])) }
        let error = await transferError { try await store.write { try $0.execute("UPDATE checkpoint SET \(change)") } }
        #expect(error?.code == .internal)
    }

    @Test(arguments: [[], [ByteRange(10, 20), ByteRange(30, 100)]], [nil, "https://mirror.example.org/f"])
    func gapsAndTheMirrorComeBackAsTheyWereStored(_ ranges: [ByteRange], _ mirror: String?) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let held = Checkpoint(
            offset: 5, total: 100, partPath: "/p", device: 1, inode: 2, ranges: ranges, mirror: mirror)
        try await store.write { try $0.setCheckpoint(id, held) }
        #expect(try await store.read { try $0.task(id) }?.checkpoint == held)
    }

    @Test func rangesNeedALength() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var unknown = stored(ranges: [ByteRange(10, 20)])
        unknown.total = nil
        let checkpoint = unknown
        let error = await transferError { try await store.write { try $0.setCheckpoint(id, checkpoint) } }
        #expect(error?.code == .internal)
    }

    @Test func wordsThatAreNoneAreRefusedInEveryState() async throws {
        let store = try fixture.open()
        for state in TaskState.allCases { try await store.add(newTask(state)) }
        for sql in [
            "UPDATE task SET kind = 'x'", "UPDATE task SET state = 'x' WHERE state = 'queued'",
            "UPDATE task SET reason = 'x' WHERE state = 'waiting'",
            "UPDATE task SET finished_at = NULL WHERE state = 'completed'",
            "UPDATE task SET finished_at = NULL WHERE state = 'failed'",
            "UPDATE task SET finished_at = NULL WHERE state = 'cancelled'",
            "UPDATE task SET finished_at = 1 WHERE state = 'queued'",
            "UPDATE task SET budget_mark = 1 WHERE state = 'paused'",
            "UPDATE task SET budget_mark = 1 WHERE state = 'completed'",
        ] {
            await #expect(throws: TransferError.self, "\(sql)") { try await store.write { try $0.execute(sql) } }
        }
        try await store.write {
            try $0.execute("UPDATE task SET budget_mark = 1 WHERE state IN ('queued', 'running', 'waiting')")
        }
    }

    /// With a list of words SQLite would build a table of them for each row.
    @Test func noRuleOfATaskHasAList() async throws {
        let store = try fixture.open()
        let lists = try store.database.read { database in
            try database.texts(
                "SELECT name FROM sqlite_schema WHERE name IN ('task', 'event_final') AND sql LIKE '% IN (''%'")
        }
        #expect(lists == [])
    }

    @Test func vocabulariesAgreeWithTheModel() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        for state in TaskState.allCases {
            try await store.write { transaction in
                let now = try transaction.task(id)?.status.state ?? .queued
                #expect(try transaction.update(id, from: now, to: status(state)))
            }
        }
        try await store.write { transaction in
            #expect(try transaction.update(id, from: .cancelled, to: status(.waiting)))
            for reason in WaitReason.allCases {
                var waiting = status(.waiting)
                waiting.reason = reason
                #expect(try transaction.update(id, from: .waiting, to: waiting))
            }
            for kind in TaskKind.allCases {
                try transaction.execute("UPDATE task SET kind = ?", kind.rawValue)
            }
            for kind in SessionKind.allCases {
                for state in SessionState.allCases {
                    let key = SessionKey(owner: bob, identifier: "\(kind) \(state)")
                    try transaction.insertSession(
                        SessionRecord(key: key, kind: kind, state: state, createdAt: epoch))
                    #expect(try transaction.session(key)?.state == state)
                }
            }
            for type in EventType.allCases where type != .taskProgress {
                try transaction.append(event(type))
            }
        }
        let events = try await store.read { try $0.events(EventQuery()) }
        #expect(events.map(\.type) == EventType.allCases.filter { $0 != .taskProgress })
    }
}
