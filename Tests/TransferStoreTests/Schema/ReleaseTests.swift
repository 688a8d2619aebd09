import Foundation
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// A state folder of each release is kept (`scripts/release-state.py` writes it), and every later release opens it.
@Suite struct ReleaseTests {
    private static let releases = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/releases").path

    /// What the release's daemon said about its folder.
    private struct Contents: Decodable {
        struct Task: Decodable {
            var id: Int64
            var session, kind, url, state: String
            var tags: [String]
        }

        var tasks: [Task]
        var sessions, cookies, credentials, hsts, tokens, settings: [String]
        var questions: [Int64]
        /// The last event that a subscriber has acknowledged.
        var acknowledged: [String: Int64]
        var uid: UInt32
    }

    @Test func thereIsOneOfThisRelease() {
        #expect(Files.names(in: Self.releases).contains(Product.version))
    }

    @Test(arguments: Files.names(in: releases)) func everyReleasesFolderIsOpened(_ release: String) async throws {
        let fixture = Fixture()
        try FileManager.default.copyItem(atPath: "\(Self.releases)/\(release)", toPath: fixture.folder)
        chmod(fixture.folder, 0o700)
        let contents = try JSONDecoder().decode(
            Contents.self, from: Data(contentsOf: URL(fileURLWithPath: fixture.folder + "/contents.json")))
        // The second time it has the schema of this version.
        for _ in 0..<2 {
            let store = try fixture.open()
            try store.database.read { database in
                #expect(try database.integer("PRAGMA user_version") == Int64(Schema.texts.count))
                #expect(try database.texts("PRAGMA integrity_check") == ["ok"])
                #expect(try database.texts("PRAGMA foreign_key_check") == [])
                try expectDerivedRowsAgree(database)
            }
            try await expectTasks(contents, in: store)
            try await expectRest(contents, in: store)
            store.close()
        }
        let last = try #require(contents.tasks.map(\.id).max())
        #expect(try await fixture.open().add(newTask()) == TaskID(last + 1))
    }

    private func expectTasks(_ contents: Contents, in store: TransferStore) async throws {
        let kinds = Set(contents.tasks.map(\.kind)), states = Set(contents.tasks.map(\.state))
        #expect(kinds.count == 3 && states.count == TaskState.allCases.count - 1, "one of each, but none runs")
        for expected in contents.tasks {
            let task = try #require(try await store.read { try $0.task(TaskID(expected.id)) }, "\(expected)")
            #expect(task.session == SessionKey(owner: UserID(contents.uid), identifier: expected.session))
            #expect(task.spec.url == expected.url && task.spec.tags ?? [] == expected.tags, "\(expected)")
            #expect(task.status.state.rawValue == expected.state && task.spec.kind.rawValue == expected.kind)
            #expect(task.status.error != nil || task.status.state != .failed, "\(expected)")
        }
    }

    private func expectRest(_ contents: Contents, in store: TransferStore) async throws {
        let owner = UserID(contents.uid)
        try await store.read { snapshot in
            #expect(try snapshot.sessions(owner: owner).map(\.key.identifier).sorted() == contents.sessions)
            let questions = try snapshot.openDecisions(owner: owner, limit: 9)
            #expect(questions.map(\.task) == contents.questions.map { TaskID($0) } && !questions.isEmpty)
            for token in contents.tokens {
                let use = try snapshot.use(ofToken: token, owner: owner, notBefore: Timestamp(milliseconds: 0))
                #expect(use?.state == .queued, "\(token)")
            }
            for (name, sequence) in contents.acknowledged {
                let number = SequenceNumber(sequence)
                #expect(try snapshot.subscriber(name, owner: owner) == number)
                let next = try snapshot.events(EventQuery(after: number, owner: owner, limit: 1)).first
                #expect(next?.sequence == SequenceNumber(sequence + 1), "an event that nobody has read")
            }
            #expect(try snapshot.settings().keys.sorted() == contents.settings)
        }
        let (cookies, credentials, hosts) = try await store.write {
            (try $0.cookies(), try $0.credentials(), try $0.hstsHosts())
        }
        #expect(cookies.map(\.cookie.name) == contents.cookies && !cookies.isEmpty)
        #expect(credentials.map(\.credential.space.host) == contents.credentials && !credentials.isEmpty)
        #expect(hosts.map(\.host.domain) == contents.hsts && !hosts.isEmpty)
    }
}
