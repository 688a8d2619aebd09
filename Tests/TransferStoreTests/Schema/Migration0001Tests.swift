import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0001Tests {
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
        "INSERT INTO session VALUES (9, -1, 'x', 'background', 'active', '{}', 0)",
        "INSERT INTO session VALUES (9, 4294967296, 'x', 'background', 'active', '{}', 0)",
        "INSERT INTO session VALUES (9, 1, '', 'background', 'active', '{}', 0)",
        "INSERT INTO session VALUES (9, 1, 'x', 'eternal', 'active', '{}', 0)",
        "INSERT INTO session VALUES (9, 1, 'x', 'background', 'asleep', '{}', 0)",
        "INSERT INTO event VALUES (0, 0, 'task.added', 1, 's', NULL, NULL)",
        "INSERT INTO event VALUES (1, 0, 'task.progress', 1, 's', NULL, NULL)",
        "INSERT INTO event VALUES (1, 'now', 'task.added', 1, 's', NULL, NULL)",
        "INSERT INTO subscriber VALUES (1, '', 0)",
        "INSERT INTO subscriber VALUES (1, 'x', -1)",
        "INSERT INTO checkpoint VALUES (99, 0, NULL, NULL, NULL, NULL, NULL, '/p', 1, 1, NULL)",
        "UPDATE counter SET value = -1",
    ])
    func aBadRowOfAnotherTableIsRefused(_ sql: String) async throws {
        let store = try fixture.open()
        let error = await transferError { try await store.write { try $0.execute(sql) } }
        #expect(error?.code == .internal)
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
