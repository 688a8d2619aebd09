import NIOConcurrencyHelpers
import Testing
import TransferModel

@testable import dld_web

/// Remembers what is called, and has tasks.
private final class ScriptedDaemon: Sendable {
    private struct State {
        var tasks: [JSONValue] = []
        var calls: [(method: String, parameters: JSONValue)] = []
        var isAway = false
    }

    private let state = NIOLockedValueBox(State())

    var calls: [String] { state.withLockedValue { $0.calls.map(\.method) } }
    func parameters(_ method: String) -> JSONValue? {
        state.withLockedValue { $0.calls.last { $0.method == method }?.parameters }
    }
    func goAway() { state.withLockedValue { $0.isAway = true } }

    func add(_ task: JSONValue) {
        state.withLockedValue { state in
            var members = task.objectValue ?? [:]
            members["id"] = .integer(Int64(state.tasks.count + 1))
            if members["state"] == nil { members["state"] = "queued" }
            if members["position"] == nil { members["position"] = .integer(Int64(state.tasks.count)) }
            state.tasks.append(.object(members))
        }
    }

    func call(_ method: String, _ parameters: JSONValue) throws -> JSONValue {
        try state.withLockedValue { state in
            state.calls.append((method, parameters))
            if state.isAway { throw TransferError(.shuttingDown, "dld is away.") }
            let ids = (parameters["ids"]?.arrayValue ?? [parameters["id"] ?? .null]).compactMap(\.integerValue)
            switch method {
            case "task.add":
                return [
                    "tasks": .array(
                        (parameters["tasks"]?.arrayValue ?? []).map { spec in
                            var members = spec.objectValue ?? [:]
                            members["id"] = .integer(Int64(state.tasks.count + 1))
                            members["state"] = spec["startPaused"] == true ? "paused" : "queued"
                            state.tasks.append(.object(members))
                            return ["id": members["id"] ?? .null, "state": "queued"]
                        })
                ]
            case "task.get":
                guard let task = state.tasks.first(where: { $0["id"]?.integerValue == ids.first }) else {
                    throw TransferError(.taskNotFound, "There is no such task.")
                }
                return task
            case "task.list": return page(of: state.tasks, parameters, ids: parameters["ids"] == nil ? nil : ids)
            case "daemon.stats":
                return ["tasks": ["running": 1, "queued": 2, "paused": 3, "failed": 4], "downloadRate": 1.9]
            case "settings.get": return ["downloadRateLimit": ["value": 5], "maximumConcurrentTasks": ["value": 32]]
            case "daemon.info": return ["userDirectory": "/home"]
            case "task.resumeData": return ["resumeData": .string("bytes of \(ids.first ?? 0)")]
            case "task.update", "settings.set": return [:]
            default:
                let mayNot = ids.contains { id in
                    state.tasks.first { $0["id"]?.integerValue == id }?["state"] == "stuck"
                }
                return ["changed": mayNot ? [] : .array(ids.map { .integer($0) }), "skipped": []]
            }
        }
    }

    private func page(of tasks: [JSONValue], _ parameters: JSONValue, ids: [Int64]?) -> JSONValue {
        var rows = tasks
        if let ids { rows = rows.filter { ids.contains($0["id"]?.integerValue ?? 0) } }
        if let states = parameters["states"]?.arrayValue {
            rows = rows.filter { states.contains($0["state"] ?? .null) }
        }
        if let first = parameters["idRange"]?["first"]?.integerValue {
            rows = rows.filter { $0["id"]?.integerValue ?? 0 >= first }
        }
        if parameters["order"] == "finished" { rows.reverse() }
        let total = rows.count
        rows.removeFirst(
            min(
                rows.count,
                Int(parameters["offset"]?.integerValue ?? parameters["cursor"]?.stringValue.flatMap { Int64($0) } ?? 0))
        )
        let limit = min(2, Int(parameters["limit"]?.integerValue ?? 100))
        var page: [String: JSONValue] = ["tasks": .array(Array(rows.prefix(limit)))]
        if parameters["total"] == true { page["total"] = .integer(Int64(total)) }
        if rows.count > limit { page["nextCursor"] = .string("\(total - rows.count + limit)") }
        return .object(page)
    }
}

struct Aria2EndpointTests {
    private let daemon = ScriptedDaemon()
    private let endpoint: Aria2Endpoint
    private let pauses = NIOLockedValueBox(0)
    private let ends = NIOLockedValueBox(0)

    init() {
        let (daemon, pauses, ends) = (daemon, pauses, ends)
        endpoint = Aria2Endpoint(
            Aria2Endpoint.Surroundings(
                call: { try daemon.call($0, $1) }, secret: "s3", options: ["split": "7"],
                end: { ends.withLockedValue { $0 += 1 } }, sleep: { _ in pauses.withLockedValue { $0 += 1 } }))
    }

    private func answer(_ text: String, isTrusted: Bool = true) async throws -> (
        status: Int, json: JSONValue, hasSecret: Bool
    ) {
        let answer = await endpoint.answer(Array(text.utf8), isTrusted: isTrusted)
        return (answer.status, try JSONCoding.decode(JSONValue.self, from: answer.body), answer.hasSecret)
    }

    private func call(_ method: String, _ parameters: JSONValue = []) async throws -> JSONValue {
        let request: JSONValue = ["id": 1, "method": .string(method), "params": parameters]
        let answer = try await answer(String(decoding: JSONCoding.encode(request), as: UTF8.self)).json
        return answer["result"] ?? answer["error"]?["message"] ?? .null
    }

    private func gid(_ id: Int64) -> JSONValue { .string("\(Aria2GID(task: id))") }

    // MARK: Envelope

    @Test(
        arguments: [
            ("{bad", 500, -32700, nil), (#""x""#, 400, -32600, nil), (#"{"id":1}"#, 400, -32600, nil),
            (#"{"method":"aria2.getVersion"}"#, 400, -32600, nil),
            (#"{"id":1,"method":"aria2.getVersion","params":{}}"#, 500, -32602, "Invalid params."),
            (#"{"id":1,"method":"aria2.odd"}"#, 400, 1, "No such method: aria2.odd"),
            (#"{"id":1,"method":"aria2.addUri"}"#, 400, 1, "The parameter at 0 is required but missing."),
            (#"{"id":1,"method":"aria2.addUri","params":["a"]}"#, 400, 1, "The parameter at 0 has wrong type."),
            (#"{"id":1,"method":"aria2.tellStatus","params":["zz"]}"#, 400, 1, "Invalid GID zz"),
            (
                #"{"id":1,"method":"aria2.tellStatus","params":["0123456789abcdef0"]}"#, 400, 1,
                "Invalid GID 0123456789abcdef0"
            ),
            (
                #"{"id":1,"method":"aria2.tellStatus","params":["0123456789abcdef"]}"#, 400, 1,
                "GID 0123456789abcdef is not found"
            ),
            (#"{"id":1,"method":"aria2.addTorrent","params":["a"]}"#, 400, 1, "dld does not transfer torrents"),
            (#"{"id":1,"method":"aria2.addUri","params":[["magnet:?x"]]}"#, 400, 1, "dld does not transfer torrents"),
            (
                #"{"id":1,"method":"aria2.addUri","params":[["http://a/b.torrent?c"]]}"#, 400, 1,
                "dld does not transfer torrents"
            ),
        ] as [(String, Int, Int64, String?)])
    func mistakesAreAnsweredAsByAria2(text: String, status: Int, code: Int64, message: String?) async throws {
        let answer = try await answer(text)
        #expect(answer.status == status)
        #expect(answer.json["error"]?["code"]?.integerValue == code)
        if let message { #expect(answer.json["error"]?["message"]?.stringValue == message) }
        #expect(!daemon.calls.contains("task.add"))
    }

    @Test func idAndBatchComeBack() async throws {
        let one = try await answer(#"{"jsonrpc":"2.0","id":"x","method":"aria2.saveSession"}"#)
        #expect(one.json == ["id": "x", "jsonrpc": "2.0", "result": "OK"])
        let batch = try await answer(#"[{"id":null,"method":"aria2.saveSession"},7]"#)
        #expect(batch.status == 200)
        #expect(batch.json.arrayValue?.count == 2)
        #expect(batch.json.arrayValue?[1]["error"]?["code"] == -32600)
        #expect(try await answer("[]").json == [])
    }

    @Test func aQueryIsARequestToo() async throws {
        let list = Array(#"["token:s3"]"#.utf8).base64
        let answer = await endpoint.answer(
            query: ["method": "aria2.saveSession", "id": "q", "params": list], isTrusted: false)
        #expect(
            try JSONCoding.decode(JSONValue.self, from: answer.body) == ["id": "q", "jsonrpc": "2.0", "result": "OK"])
        let batch = Array(#"[{"id":1,"method":"aria2.saveSession"}]"#.utf8).base64
        #expect(await endpoint.answer(query: ["params": batch], isTrusted: true).body.first == UInt8(ascii: "["))
        let script = await endpoint.answer(
            query: ["method": "aria2.saveSession", "id": "q", "jsoncallback": "f"], isTrusted: true)
        #expect(script.status == 400)
    }

    @Test func multicallWrapsResults() async throws {
        let calls: JSONValue = [
            ["methodName": "aria2.saveSession"], ["methodName": "aria2.odd"],
            ["methodName": "system.multicall", "params": [[]]], 5,
        ]
        let expected: JSONValue = [
            ["OK"], ["code": 1, "message": "No such method: aria2.odd"],
            ["code": 1, "message": "Recursive system.multicall forbidden."],
            ["code": 1, "message": "system.multicall expected struct."],
        ]
        #expect(try await call("system.multicall", [calls]) == expected)
    }

    // MARK: Secret

    @Test(
        arguments: [
            ("[]", true, true, false), ("[]", false, false, false), (#"["token:s3"]"#, false, true, true),
            (#"["token:s3"]"#, true, true, true), (#"["token:s"]"#, true, false, false),
            (#"["s3"]"#, false, false, false),
        ])
    func theSecretAdmits(list: String, isTrusted: Bool, isAdmitted: Bool, isRight: Bool) async throws {
        let answer = try await answer(#"{"id":1,"method":"aria2.getVersion","params":\#(list)}"#, isTrusted: isTrusted)
        #expect((answer.json["result"] != nil) == isAdmitted)
        #expect(answer.hasSecret == isRight)
        if !isAdmitted {
            #expect(answer.status == 400)
            #expect(answer.json["error"] == ["code": 1, "message": "Unauthorized"])
        }
        #expect(daemon.calls.isEmpty)
    }

    @Test func withoutASecretNoPageComesIn() async throws {
        let daemon = daemon
        let endpoint = Aria2Endpoint(Aria2Endpoint.Surroundings(call: { try daemon.call($0, $1) }, secret: nil))
        let request = Array(#"{"id":1,"method":"aria2.getVersion","params":["token:"]}"#.utf8)
        #expect(await endpoint.answer(request, isTrusted: false).status == 400)
        #expect(await endpoint.answer(request, isTrusted: true).status == 200)
    }

    /// Each call of a batch is a guess.
    @Test func guessesWait() async throws {
        let guess = #"{"id":1,"method":"aria2.getVersion","params":["token:x"]}"#
        for _ in 0..<5 { _ = try await answer(guess, isTrusted: false) }
        #expect(pauses.withLockedValue { $0 } == 0)
        _ = try await answer("[\(guess),\(guess)]", isTrusted: false)
        #expect(pauses.withLockedValue { $0 } == 2)
        _ = try await answer(#"{"id":1,"method":"aria2.getVersion","params":["token:s3"]}"#, isTrusted: false)
        #expect(pauses.withLockedValue { $0 } == 2)
    }

    @Test func namesOfMethodsNeedNoSecret() async throws {
        let answer = try await answer(#"{"id":1,"method":"system.listMethods"}"#, isTrusted: false)
        #expect(answer.json["result"]?.arrayValue?.count == Aria2Method.allCases.count)
    }

    // MARK: Adding

    @Test func addsWithMirrorsAndOptions() async throws {
        let gid = try await call(
            "aria2.addUri", [["http://a/f", "http://b/f"], ["dir": "/d", "gid": "00000000000000AB"]])
        #expect(gid == "00000000000000ab")
        let expected: JSONValue = [
            "url": "http://a/f", "mirrors": ["http://b/f"], "destination": ["directory": "/d"], "connections": 7,
            "attributes": ["aria2.gid": "00000000000000ab", "aria2.options": #"{"dir":"/d"}"#],
        ]
        #expect(daemon.parameters("task.add")?["tasks"]?.arrayValue == [expected])
        #expect(
            try await call("aria2.addUri", [["http://c/f"], ["gid": "00000000000000ab"]])
                == "GID 00000000000000ab is already used")
        #expect(try await call("aria2.addUri", [["http://c/f"], ["gid": "ab"]]) == "Invalid GID ab")
        #expect(try await call("aria2.addUri", [[]]) == "URI is not provided.")
    }

    @Test func ownNumbersAreRandom() async throws {
        let one = try await call("aria2.addUri", [["http://a/f"]]).stringValue
        let two = try await call("aria2.addUri", [["http://a/f"]]).stringValue
        #expect(one != two && one.flatMap(Aria2GID.init) != nil)
    }

    /// Some clients pause by `remove`, and resume by adding the same again.
    @Test func addingGoesOnFromRemovedBytes() async throws {
        let place: JSONValue = ["directory": "/d"]
        daemon.add(["state": "cancelled", "url": "http://a/f", "bytesReceived": 0, "destination": place])
        daemon.add(["state": "cancelled", "url": "http://a/f", "bytesReceived": 5, "destination": place])
        daemon.add(["state": "cancelled", "url": "http://a/f", "bytesReceived": 5, "destination": ["directory": "/e"]])
        let data = { daemon.parameters("task.add")?["tasks"]?.arrayValue?.first?["resumeData"] }
        _ = try await call("aria2.addUri", [["http://a/f"], ["dir": "/d", "continue": true]])
        #expect(data() == "bytes of 2")
        for options: JSONValue in [["dir": "/d"], ["dir": "/x", "continue": true], ["continue": true]] {
            _ = try await call("aria2.addUri", [["http://a/f"], options])
            #expect(data() == nil)
        }
    }

    @Test func aPlaceIsTaken() async throws {
        for _ in 0..<3 { daemon.add([:]) }
        _ = try await call("aria2.addUri", [["http://a/f"], [:], 1])
        #expect(daemon.parameters("task.update") == ["id": 4, "position": 0.5])
    }

    @Test func aMetalinkIsATaskForEachFile() async throws {
        let text = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a/b"><size>5</size><url>http://a/b</url>
            <url>http://c/b</url></file><file name="c"><url>http://a/c</url></file></metalink>
            """
        let gids = try await call(
            "aria2.addMetalink", [.string(Array(text.utf8).base64), ["dir": "/d", "out": "x", "pause": "true"]])
        #expect(gids.arrayValue?.count == 2)
        let tasks = daemon.parameters("task.add")?["tasks"]?.arrayValue ?? []
        #expect(
            tasks.map { $0["destination"] ?? .null } == [["path": "/d/a/b"], ["directory": "/d", "filename": "c"]])
        #expect(
            tasks.first?["mirrors"] == ["http://c/b"] && tasks.first?["size"] == 5
                && tasks.first?["startPaused"] == true)
        #expect(try await call("aria2.addMetalink", ["!"]).stringValue?.isEmpty == false)
    }

    // MARK: Finding

    @Test func everyTaskIsFound() async throws {
        for index in 0..<5 { daemon.add(index == 3 ? ["attributes": ["aria2.gid": "0123456789abcdef"]] : [:]) }
        #expect(try await call("aria2.tellStatus", [gid(5), ["gid"]]) == ["gid": gid(5)])
        #expect(try await call("aria2.tellStatus", ["0123456789ABCDEF", ["gid"]]) == ["gid": "0123456789abcdef"])
        #expect(try await call("aria2.tellStatus", ["01234", ["gid"]]) == ["gid": "0123456789abcdef"])
        // A task with a number of its own has no other.
        let other = try #require(gid(4).stringValue)
        #expect(try await call("aria2.tellStatus", [gid(4)]) == .string("GID \(other) is not found"))
    }

    @Test func aPrefixMustBeUnique() async throws {
        for digits in ["0123456789abcdef", "0123456789abcdee"] {
            daemon.add(["attributes": ["aria2.gid": .string(digits)]])
        }
        #expect(try await call("aria2.tellStatus", ["0123456789abcde"]) == "GID 0123456789abcde is not unique")
    }

    // MARK: Control

    @Test(
        arguments: [
            ("pause", "task.pause", "cannot be paused now"), ("forcePause", "task.pause", "cannot be paused now"),
            ("unpause", "task.resume", "cannot be unpaused now"),
            ("remove", "task.cancel", "Active Download not found"),
            ("forceRemove", "task.cancel", "Active Download not found"),
            ("removeDownloadResult", "task.remove", "Could not remove download result"),
        ])
    func oneIsControlled(method: String, called: String, refusal: String) async throws {
        daemon.add([:])
        daemon.add(["state": "stuck"])
        let result = try await call("aria2.\(method)", [gid(1), gid(2)])
        #expect(result == (method == "removeDownloadResult" ? "OK" : gid(1)))
        #expect(daemon.parameters(called)?["ids"] == [1])
        if called == "task.cancel" { #expect(daemon.parameters(called)?["keepPartial"] == true) }
        #expect(try await call("aria2.\(method)", [gid(2)]).stringValue?.contains(refusal) == true)
    }

    @Test(
        arguments: [
            ("pauseAll", "task.pause", ["queued", "running", "waiting"]), ("unpauseAll", "task.resume", ["paused"]),
            ("forcePauseAll", "task.pause", ["queued", "running", "waiting"]),
            ("purgeDownloadResult", "task.remove", ["completed", "failed", "cancelled"]),
        ])
    func allAreControlled(method: String, called: String, states: [String]) async throws {
        #expect(try await call("aria2.\(method)") == "OK")
        #expect(daemon.parameters(called) == ["all": true, "states": .array(states.map { .string($0) })])
    }

    /// Of five waiting tasks, 0 to 4, the second moves.
    @Test(
        arguments: [
            (0, "POS_SET", 0, "first"), (2, "POS_SET", 2, 2.5), (9, "POS_SET", 4, "last"), (1, "POS_CUR", 2, 2.5),
            (-1, "POS_CUR", 0, "first"), (0, "POS_END", 4, "last"), (-1, "POS_END", 3, 3.5), (1, "POS_SET", 1, nil),
        ] as [(Int64, String, Int64, JSONValue?)])
    func placesAreChanged(offset: Int64, how: String, place: Int64, position: JSONValue?) async throws {
        for _ in 0..<5 { daemon.add([:]) }
        #expect(try await call("aria2.changePosition", [gid(2), .integer(offset), .string(how)]) == .integer(place))
        #expect(daemon.parameters("task.update")?["position"] == position)
    }

    @Test func onlyWaitingTasksHaveAPlace() async throws {
        daemon.add(["state": "running"])
        #expect(
            try await call("aria2.changePosition", [gid(1), 0, "POS_SET"]).stringValue?.contains(
                "not found in the waiting queue") == true)
        #expect(try await call("aria2.changePosition", [gid(1), 0, "POS_ODD"]) == "Illegal argument.")
    }

    @Test func linksAreChanged() async throws {
        daemon.add(["url": "http://a", "mirrors": ["http://b", "http://b"]])
        #expect(
            try await call("aria2.changeUri", [gid(1), 1, ["http://b", "http://odd"], ["http://c"], 0]) == [1, 1])
        #expect(daemon.parameters("task.update") == ["id": 1, "url": "http://c", "mirrors": ["http://a", "http://b"]])
        #expect(
            try await call("aria2.changeUri", [gid(1), 1, ["http://a", "http://b", "http://b"], []])
                == "A download needs at least one URI.")
        #expect(try await call("aria2.changeUri", [gid(1), 2, [], []]) == "fileIndex is out of range")
    }

    @Test func optionsAreChanged() async throws {
        daemon.add(["url": "http://a", "rateLimit": 1024, "attributes": ["mine": "x"]])
        #expect(
            try await call("aria2.changeOption", [gid(1), ["max-download-limit": "1K", "dir": "/e", "odd": "1"]])
                == "OK")
        let kept = #"{"dir":"/e","max-download-limit":"1K","odd":"1"}"#
        #expect(
            daemon.parameters("task.update") == [
                "id": 1, "destination": ["directory": "/e"],
                "attributes": ["mine": "x", "aria2.options": .string(kept)],
            ])
        daemon.add(["state": "completed"])
        #expect(
            try await call("aria2.changeOption", [gid(2), [:]]).stringValue?.hasPrefix("Cannot change option") == true)
        #expect(try await call("aria2.changeOption", [gid(1), [:]]) == "OK")
        #expect(daemon.calls.count { $0 == "task.update" } == 1)
    }

    @Test func globalOptionsAreSettings() async throws {
        #expect(
            try await call(
                "aria2.changeGlobalOption",
                [
                    [
                        "max-overall-download-limit": "1K", "max-concurrent-downloads": "3", "dir": "/g", "out": "x",
                        "odd": "1",
                    ]
                ]) == "OK")
        #expect(daemon.parameters("settings.set") == ["downloadRateLimit": 1024, "maximumConcurrentTasks": 3])
        let options = try await call("aria2.getGlobalOption")
        #expect(options["max-overall-download-limit"] == "5" && options["max-concurrent-downloads"] == "32")
        #expect(options["dir"] == "/g" && options["odd"] == "1" && options["split"] == "7" && options["out"] == nil)
        #expect(
            try await call("aria2.changeGlobalOption", [["dir": "relative"]]).stringValue?.contains("--dir") == true)
    }

    // MARK: Lists

    @Test func listsHavePages() async throws {
        for index in 0..<9 { daemon.add(["state": ["queued", "running", "completed"][index % 3]]) }
        let ids = { (value: JSONValue) in (value.arrayValue ?? []).compactMap { $0["gid"] } }
        #expect(ids(try await call("aria2.tellActive", [["gid"]])) == [gid(2), gid(5), gid(8)])
        #expect(ids(try await call("aria2.tellWaiting", [0, 1000])) == [gid(1), gid(4), gid(7)])
        #expect(ids(try await call("aria2.tellWaiting", [1, 1])) == [gid(4)])
        #expect(ids(try await call("aria2.tellWaiting", [-1, 2])) == [gid(7), gid(4)])
        #expect(ids(try await call("aria2.tellStopped", [0, 2])) == [gid(3), gid(6)])
        #expect(ids(try await call("aria2.tellStopped", [-1, 2])) == [gid(9), gid(6)])
        #expect(try await call("aria2.tellWaiting", [5, 2]) == [])
    }

    @Test func statisticsAreStrings() async throws {
        #expect(
            try await call("aria2.getGlobalStat") == [
                "downloadSpeed": "1", "uploadSpeed": "0", "numActive": "1", "numWaiting": "5", "numStopped": "4",
                "numStoppedTotal": "4",
            ])
    }

    @Test func shutdownEndsTheEndpoint() async throws {
        #expect(try await call("aria2.shutdown") == "OK")
        #expect(ends.withLockedValue { $0 } == 1)
        #expect(daemon.calls.isEmpty)
    }

    @Test func saysThatTheDaemonIsAway() async throws {
        daemon.goAway()
        #expect(try await call("aria2.getGlobalStat") == "dld is away.")
    }

    // MARK: Notifications

    @Test(
        arguments: [
            "task.started": "onDownloadStart", "task.paused": "onDownloadPause", "task.cancelled": "onDownloadStop",
            "task.completed": "onDownloadComplete", "task.failed": "onDownloadError",
        ])
    func changesAreTold(type: String, method: String) async throws {
        daemon.add([:])
        let text = try #require(await endpoint.notification(for: ["type": .string(type), "task": 1]))
        #expect(
            try JSONCoding.decode(JSONValue.self, from: text) == [
                "jsonrpc": "2.0", "method": .string("aria2.\(method)"), "params": [["gid": gid(1)]],
            ])
    }

    /// Another attempt is no other start; a start after a pause is.
    @Test func eachChangeIsToldOnce() async throws {
        daemon.add([:])
        var told: [Bool] = []
        for type in [
            "task.started", "task.waiting", "task.started", "task.paused", "task.queued", "task.started",
            "task.progress",
        ] {
            let event: JSONValue = ["type": .string(type), "task": 1]
            let text = await endpoint.notification(for: event)
            told.append(text != nil)
        }
        #expect(told == [true, false, false, true, false, true, false])
        let other = await endpoint.notification(for: ["type": "task.started", "task": 9])
        #expect(other == nil)
    }
}
