import Glibc
import TestSupport
import Testing
import TransferModel
import TransferRPC

extension EndToEnd.Serving {
    /// Promise 6: every method of the protocol is tried with another user's objects.
    @Suite(.enabled(if: Requirements.isRoot, "a system daemon and other users need root"))
    struct Isolation {
        /// A new method or parameter of the protocol must declare here what others get of it.
        @Test func everyMethodAndParameterIsTried() {
            let someone = IsolationTarget.nobodys(home: "/h")
            for method in Methods.all {
                guard let attempts = IsolationAttempt.attempts(with: method) else {
                    Issue.record("\(method.name): say in IsolationAttempt what other users get of it")
                    continue
                }
                var named = someone
                named.cursor = "c"
                let tried = attempts.flatMap { $0.parameters(named).members.keys }
                #expect(Set(tried) == method.parameterNames, "\(method.name)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func noMethodShowsOrChangesWhatIsAnothers() async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let before = try await anna.everything()
            #expect("\(before)".contains(AnnasThings.mark))
            for uid in [IsolationHouse.bert, IsolationHouse.carl] {
                let probe = try await house.probe(uid)
                // One user has objects with the same names, the other has nothing.
                if uid == IsolationHouse.bert { try await haveThings(probe, uid, house) }
                let nobody = IsolationTarget.nobodys(home: house.home(40999))
                for method in Methods.all {
                    for attempt in IsolationAttempt.attempts(with: method) ?? [] {
                        try await check(attempt, of: method.name, probe, anna.target, nobody)
                    }
                }
            }
            expectSame(try await anna.everything(), before)
        }

        /// One daemon, one server, two users: each has only the cookies that its own tasks were set.
        @Test(.timeLimit(.minutes(1)))
        func aServersCookiesReachNoOtherUser() async throws {
            let house = try await IsolationHouse()
            house.origin.serve(
                "/jar",
                .choose { request in
                    .status(200, [("Set-Cookie", "seen=1")], body: request.header("Cookie") ?? "none")
                })
            for uid in [IsolationHouse.anna, IsolationHouse.bert] {
                let probe = try await house.probe(uid)
                try await probe.call(
                    "session.open", ["id": "jar", "configuration": ["httpCookieStorage": "shared"]])
                for expected in ["none", "seen=1"] {
                    let id = try await probe.add(
                        [["kind": "data", "url": .string(house.origin.url("/jar"))]], session: "jar")[0]
                    try await probe.wait(for: id, "completed")
                    let body = try await probe.call("task.body", ["id": .integer(id)])["data"]?.stringValue
                    #expect(body == Base64Text.encode(Array(expected.utf8)), "\(uid)")
                }
            }
        }

        /// One daemon, one URL, two users: the server answers the first request of each user, even if the other user
        /// has the answer in the cache.
        @Test(.timeLimit(.minutes(1)))
        func aCachedAnswerReachesNoOtherUser() async throws {
            let house = try await IsolationHouse()
            house.origin.serve("/cached", .status(200, [("Cache-Control", "max-age=600")], body: "x"))
            for (count, uid) in [IsolationHouse.anna, IsolationHouse.bert].enumerated() {
                let probe = try await house.probe(uid)
                #expect(try await probe.call("cache.info")["storages"] == [])
                try await probe.call("session.open", ["id": "c", "kind": "default"])
                for isCached in [false, true] {
                    let id = try await probe.add(
                        [["kind": "data", "url": .string(house.origin.url("/cached"))]], session: "c")[0]
                    let task = try await probe.wait(for: id, "completed")
                    #expect((task["response", "fromCache"] == true) == isCached, "\(uid)")
                }
                #expect(house.origin.requests("/cached").count == count + 1)
            }
        }

        /// One daemon, one server, two users: each obeys what its own tasks have learned.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx", "openssl")))
        func aHostKnownToOneUserIsKnownToNoOther() async throws {
            let house = try await IsolationHouse()
            let server = try await Nginx.start(
                tls: true, extra: "add_header Strict-Transport-Security max-age=1000 always;")
            try server.publish("file", Content(seed: 1, size: 100))
            let authority = try Files.text(try #require(server.certificates?.authority))
            for (uid, other) in [
                (IsolationHouse.anna, IsolationHouse.bert), (IsolationHouse.bert, IsolationHouse.anna),
            ] {
                let probe = try await house.probe(uid)
                // The folder is created with the first file.
                let first = try await probe.add(house.origin.url("/first"), to: house.home(uid) + "/first")
                try await probe.wait(for: first, "completed")
                try Files.write(house.home(uid) + "/authority", authority)
                try await probe.call(
                    "session.open",
                    ["id": "h", "configuration": ["hsts": true, "caFile": .string(house.home(uid) + "/authority")]])
                #expect(try await probe.call("hsts.list")["hosts"] == [])
                func ask(_ url: String, _ end: String) async throws {
                    let id = try await probe.add([["kind": "data", "url": .string(url)]], session: "h")[0]
                    try await probe.wait(for: id, end)
                }
                let insecure = "http://localhost:\(server.tlsPort)/file"
                try await ask(insecure, "failed")
                try await ask(server.tlsURL("file"), "completed")
                try await ask(insecure, "completed")
                // The other user's hosts are forgotten only for that user.
                let others = try await house.probe(other)
                try await others.call("hsts.remove")
                #expect(try await probe.call("hsts.list")["hosts"]?.arrayValue?.count == 1)
                try await probe.call("hsts.remove")
            }
        }

        private func expectSame(_ now: [JSONValue], _ before: [JSONValue]) {
            #expect(now.count == before.count)
            for (now, before) in zip(now, before) { #expect(now == before) }
        }

        private func haveThings(_ probe: RPCProbe, _ uid: UInt32, _ house: IsolationHouse) async throws {
            try await probe.call("session.open", ["id": "photos"])
            _ = try await house.add(probe, uid, "/own", to: "own", ["startPaused": true], session: "photos")
            let done = try await house.add(probe, uid, "/own", to: "own-done")
            try await probe.wait(for: done, "completed")
        }

        private func check(
            _ attempt: IsolationAttempt, of method: String, _ probe: RPCProbe, _ hers: IsolationTarget,
            _ nobodys: IsolationTarget
        ) async throws {
            let what = "\(method) \(attempt.parameters(hers))"
            let answer = try await probe.line(method, attempt.parameters(hers)).maskingHeads
            guard attempt.expectation != .own else {
                #expect(!answer.contains(AnnasThings.mark), "\(what): \(answer)")
                #expect(!answer.contains("\(hers.uid)"), "\(what): \(answer)")
                #expect(!answer.contains("\"id\":\(hers.task),"), "\(what): \(answer)")
                return
            }
            let other = try await probe.line(method, attempt.parameters(nobodys)).maskingHeads
            #expect(hers.rename(other, from: nobodys) == answer, "\(what)")
            #expect(answer.contains("permission.denied") == (attempt.expectation == .denied), "\(what): \(answer)")
        }

        /// A guess reveals nothing, not even how many tasks there are.
        @Test(.timeLimit(.minutes(1)))
        func guessedIDsAreAllUnknown() async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let carl = try await house.probe(IsolationHouse.carl)
            let end = (anna.tasks.max() ?? 0) + 20
            var answers: Set<String> = []
            for id in 1...end {
                answers.insert(try await carl.line("task.get", ["id": .integer(id)]).replacing(#/\b\d+\b/#, with: "N"))
            }
            #expect(answers.count == 1, "\(answers)")
            let stats = try await carl.call("daemon.stats")
            #expect(stats["tasks"]?.members.values.allSatisfy { $0 == 0 } == true, "\(stats)")
        }

        /// Root and the administrators' group see and control what other users must not.
        @Test(.timeLimit(.minutes(1)), arguments: [UInt32?.none, IsolationHouse.adminGroup])
        func administratorsSeeAll(_ uid: UInt32?) async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let admin = try await house.probe(uid)
            let (owner, task) = (JSONValue.integer(Int64(IsolationHouse.anna)), JSONValue.integer(anna.target.task))
            let session = JSONValue.string(anna.target.session)
            let seeing: [(String, JSONValue)] = [
                ("task.get", ["id": task]), ("task.list", ["owner": owner]), ("task.list", ["owner": "*"]),
                ("session.get", ["id": session, "owner": owner]), ("session.list", ["owner": "*"]),
                ("events.list", ["after": "start", "owner": owner]), ("events.list", ["after": "start", "owner": "*"]),
                ("decision.list", ["owner": "*"]),
                ("task.update", ["id": task, "description": "anna-text"]), ("task.resumeData", ["id": task]),
                ("session.invalidate", ["id": session, "owner": owner]),
            ]
            let password = try await #require(throws: RPCFailure.self) {
                try await admin.call(
                    "decision.answer",
                    [
                        "id": .integer(anna.target.decision), "action": "useCredential",
                        "credential": ["username": "u", "password": "p"],
                    ])
            }
            #expect(password.code == "permission.denied", "\(password)")
            // Requests have the owner's credentials, so only the owner says where they go.
            for (method, parameters) in [
                ("task.update", ["id": task, "url": "http://127.0.0.1:1/"]),
                ("task.update", ["id": task, "mirrors": []]),
                ("task.update", ["id": task, "proxy": "http://127.0.0.1:1"]),
                ("task.update", ["id": task, "bearer": "b"]),
                ("task.update", ["id": task, "destination": ["path": "/tmp/x"]]),
                (
                    "session.open",
                    ["id": session, "owner": owner, "configuration": ["proxy": "http://127.0.0.1:1"]]
                ),
                ("session.open", ["id": session, "owner": owner, "configuration": ["caFile": .null]]),
            ] as [(String, JSONValue)] {
                let refusal = try await #require(throws: RPCFailure.self) { try await admin.call(method, parameters) }
                #expect(refusal.code == "permission.denied" && refusal.message.contains("only the owner"), "\(refusal)")
            }
            try await admin.call("task.update", ["id": task, "priority": "high"])
            try await admin.call(
                "session.open", ["id": session, "owner": owner, "configuration": ["maximumConcurrentTasks": 3]])
            for (method, parameters) in seeing {
                let answer = try await admin.call(method, parameters)
                let text = answer["resumeData"]?.stringValue.map(decoded) ?? "\(answer)"
                #expect(text.contains(AnnasThings.mark), "\(method): \(answer)")
            }
            let refusal = try await #require(throws: RPCFailure.self) {
                try await admin.call("task.get", ["id": task, "secrets": true])
            }
            #expect(refusal.code == "permission.denied" && !refusal.message.contains(AnnasThings.mark), "\(refusal)")
            #expect(try await anna.probe.call("task.get", ["id": task, "secrets": true])["id"] == task)
            let body = try await admin.call("task.body", ["id": .integer(anna.data)])
            #expect(body["data"]?.stringValue.map(decoded) == "anna-body")
            #expect(try await admin.control("remove", anna.completed))
            // Without an owner, they mean their own objects.
            #expect(try await admin.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
            try await admin.call("settings.set", ["maximumConcurrentTasks": 7])
        }

        private func decoded(_ text: String) -> String { String(decoding: Base64Text.decode(text), as: UTF8.self) }

        /// Subscriptions with every possible filter, and replays from the start.
        @Test(.timeLimit(.minutes(1)))
        func noSubscriptionCarriesWhatIsAnothers() async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let nosy = try await house.probe(IsolationHouse.bert)
            let ids = JSONValue.array(anna.tasks.map { .integer($0) })
            let filters: [JSONValue] = [
                [:], ["after": "start"], ["after": 0], ["after": "start", "subscriber": "anna-sub"],
                ["after": "start", "sessions": ["anna-photos", "photos", "shared"]], ["after": "start", "tasks": ids],
                ["after": "start", "progressInterval": 0.1],
            ]
            for filter in filters { try await nosy.call("events.subscribe", filter) }
            // One of her transfers runs and has figures while he listens.
            house.origin.serve("/anna-more", .good(.version(3, size: 400_000), cutAfter: 200_000), .silent)
            let more = try await house.add(
                anna.probe, IsolationHouse.anna, "/anna-more", to: "anna-more", session: "photos")
            let stats = try await house.probe(IsolationHouse.carl)
            try await anna.probe.wait(for: more, bytes: 200_000)
            #expect(try await stats.call("daemon.stats")["activeTransfers"] == 0)
            try await anna.probe.control("retry", anna.tasks[2])
            try await anna.probe.control("cancel", more)
            _ = try await house.add(nosy, IsolationHouse.bert, "/own", to: "last")
            var ends: Set<String> = []
            // All subscriptions except those for sessions and tasks that he does not have.
            while ends.count < filters.count - 1 {
                let event = try await nosy.nextEvent()
                #expect(!"\(event)".contains(AnnasThings.mark), "\(event)")
                #expect(event["task"]?.integerValue.map { !anna.tasks.contains($0) && $0 != more } ?? true, "\(event)")
                if event["type"] == "task.completed" { ends.insert(event["subscription"]?.stringValue ?? "") }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func tokensAndResumeDataOfOthersGiveNothing() async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let bert = try await house.probe(IsolationHouse.bert)
            // The same token of another user creates a task of his own.
            let his = try await house.add(
                bert, IsolationHouse.bert, "/own", to: "own", ["clientToken": .string(anna.token), "startPaused": true])
            #expect(!anna.tasks.contains(his))
            #expect(try await bert.task(his)["url"]?.stringValue?.contains(AnnasThings.mark) == false)
            let before = try await anna.everything()
            let names = Files.names(in: anna.home)
            #expect(names.contains { $0.hasPrefix(".") }, "her part is there: \(names)")
            let blob = JSONValue.string(anna.resumeData)
            let own = JSONValue.string(house.home(IsolationHouse.bert) + "/stolen")
            for (spec, code) in [
                (["resumeData": blob], "permission.denied"),
                (["resumeData": blob, "destination": ["path": own]], "permission.denied"),
                (["resumeData": blob, "destination": ["path": .string(anna.target.path)]], "permission.denied"),
            ] as [(JSONValue, String)] {
                let failure = await #expect(throws: RPCFailure.self) { try await bert.add([spec]) }
                #expect(failure?.code == code, "\(failure.map { "\($0)" } ?? "taken")")
            }
            expectSame(try await anna.everything(), before)
            // It is valid for her.
            house.origin.serve("/anna-half", .good(.version(2, size: 400_000)))
            let again = try await anna.probe.add([["resumeData": blob]])[0]
            try await anna.probe.wait(for: again, "completed")
            #expect(house.origin.requests("/anna-half").last?.header("Range") == "bytes=200000-")
        }

        /// Each member of a task and of a session that may name a file.
        @Test(.timeLimit(.minutes(1)))
        func nothingThatATaskNamesReachesAnothersFolder() async throws {
            let house = try await IsolationHouse()
            let anna = try await AnnasThings(in: house)
            let bert = try await house.probe(IsolationHouse.bert)
            let nobody = IsolationTarget.nobodys(home: house.home(40999))
            func adding(_ members: [String: JSONValue]) async throws -> String {
                let base: [String: JSONValue] = [
                    "url": .string(house.origin.url("/x")),
                    "destination": ["path": .string(house.home(IsolationHouse.bert) + "/x")],
                ]
                return try await bert.line("task.add", ["tasks": [.object(base.merging(members) { $1 })]])
            }
            #expect(Set(Self.namingFile.keys).union(Self.namingNone) == Set(TaskSpec.shape.names))
            for (member, ways) in Self.namingFile {
                for make in ways {
                    let hers = try await adding(make(anna.home + "/anna-done"))
                    let unknown = try await adding(make(nobody.path))
                    #expect(hers.contains("permission.denied"), "\(member): \(hers)")
                    let renamed = hers.replacing(anna.home + "/anna-done", with: nobody.path)
                    #expect(renamed.replacing("40017", with: "40999") == unknown, "\(member)")
                }
            }
            // Files named by a session, or by a change of a task, are checked at once too.
            let file = JSONValue.string(anna.home + "/anna-done")
            func expectDenied(_ field: String, _ method: String, _ parameters: JSONValue) async {
                let failure = await #expect(throws: RPCFailure.self) { try await bert.call(method, parameters) }
                #expect(failure?.code == "permission.denied", "\(field)")
                #expect(failure?.field == field)
            }
            for (field, configuration) in [
                ("directory", ["directory": .string(anna.home)]), ("caFile", ["caFile": file]),
                ("clientCertificate.certificate", ["clientCertificate": ["certificate": file]]),
                ("directories[0].directory", ["directories": [["directory": .string(anna.home)]]]),
            ] as [(String, JSONValue)] {
                await expectDenied(
                    "configuration.\(field)", "session.open", ["id": "denied", "configuration": configuration])
            }
            let his = try await house.add(bert, IsolationHouse.bert, "/own", to: "moved", ["startPaused": true])
            for (field, value) in [
                ("url", .string("file://" + anna.home + "/anna-done")), ("caFile", file), ("netrc", file),
                ("destination", ["path": .string(anna.home + "/bert")]),
            ] as [(String, JSONValue)] {
                await expectDenied(field, "task.update", .object(["id": .integer(his), field: value]))
            }
            #expect(!Files.exists(house.home(IsolationHouse.bert) + "/moved"))
        }
    }
}

extension EndToEnd.Serving.Isolation {
    /// Members with which a task can name a file, in every possible way.
    fileprivate static let namingFile: [String: [@Sendable (String) -> [String: JSONValue]]] = [
        "url": [{ ["url": .string("file://" + $0)] }],
        "destination": [
            { ["destination": ["path": .string($0)]] }, { ["destination": ["directory": .string($0)]] },
        ],
        "body": [{ ["method": "POST", "body": ["file": .string($0)]] }],
        "source": [{ ["kind": "upload", "method": "PUT", "source": ["path": .string($0)], "destination": .null] }],
        "netrc": [{ ["netrc": .string($0)] }],
        "caFile": [{ ["caFile": .string($0)] }],
        "clientCertificate": [
            { ["clientCertificate": ["certificate": .string($0)]] },
            { ["clientCertificate": ["certificate": .string($0), "key": .string($0)]] },
        ],
    ]

    /// Resume data has its own test. Mirrors are http, https or ftp.
    fileprivate static let namingNone: Set = [
        "attributes", "resumeData", "mirrors", "kind", "method", "headers", "conflictPolicy", "uploadProtocol",
        "formField",
        "formFields", "fileName", "contentType", "uploadMetadata", "interopVersion", "uploadCreation", "uploadChecksum",
        "s3", "checksum", "size", "pieces", "priority", "startPaused", "earliestBeginAt", "deadlineAt", "rateLimit",
        "connections", "proxy", "interface", "username", "password", "bearer", "cookies", "httpVersion", "preserveTime",
        "description", "tags", "attributes", "clientToken", "tlsMinimumVersion", "timeoutIntervalForRequest",
        "timeoutIntervalForResource", "retry", "durability", "allowsArbitraryLoads", "acceptsAnyStatus",
        "resumesUnproven", "waitsForConnectivity", "allowsExpensiveNetworkAccess", "allowsCellularAccess",
        "allowsConstrainedNetworkAccess", "isDiscretionary", "stream", "requestCachePolicy",
    ]
}
