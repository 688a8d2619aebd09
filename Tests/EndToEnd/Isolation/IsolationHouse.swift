import Glibc
import TestSupport
import TransferModel

/// A system daemon with all kinds of users: three that must not see each other, one who is an administrator by group,
/// and root.
struct IsolationHouse {
    static let anna: UInt32 = 40017
    static let bert: UInt32 = 40023
    static let carl: UInt32 = 40031
    /// Users with this primary group are members. Every Debian has the group.
    static let adminGroup: UInt32 = 60

    let daemon: DaemonProcess
    let origin: MisbehavingOrigin
    private let tools: TemporaryFolder

    func home(_ uid: UInt32) -> String { daemon.stateFolder + "/files/\(uid)" }

    /// - Parameter hasOpenat2: false makes openat2(2) unavailable to the daemon, as the shipped unit does.
    init(hasOpenat2: Bool = true) async throws {
        origin = try MisbehavingOrigin()
        origin.serveEverything(.good(.version(1, size: 5000)))
        tools = try TemporaryFolder()
        var environment: [String: String] = [:]
        if !hasOpenat2 {
            environment["LD_PRELOAD"] = try await Program.preloadable("withoutopenat2", in: tools)
        }
        daemon = try await DaemonProcess.started(
            ["--system", "--set", "adminGroup=games"], environment: environment)
        // The administrator decides who may connect. Here, everybody may.
        chmod(daemon.socket, 0o666)
    }

    func probe(_ uid: UInt32?) async throws -> RPCProbe { try await daemon.probe(uid: uid) }

    /// Adds a download to the user's own folder.
    func add(
        _ probe: RPCProbe, _ uid: UInt32, _ path: String, to name: String, _ more: [String: JSONValue] = [:],
        session: String? = nil
    ) async throws -> Int64 {
        try await probe.add(
            origin.url(path), to: home(uid) + "/" + name, Scene.quickRetry.merging(more) { $1 }, session: session)
    }
}

/// The names of one user's objects that another may try; or names in their places that belong to nobody.
struct IsolationTarget: Sendable {
    var uid: UInt32
    var task: Int64
    var decision: Int64
    var session: String
    var subscriber: String
    var subscription: String
    var cursor: String
    var text: String
    var path: String

    static func nobodys(home: String) -> IsolationTarget {
        IsolationTarget(
            uid: 40999, task: 987_654_321, decision: 876_543_210, session: "nobody-photos", subscriber: "nobody-sub",
            subscription: "none",
            cursor: "", text: "nobody-text", path: home + "/nobody-file")
    }

    /// Returns `answer` with the names of `other` replaced by those of this target.
    func rename(_ answer: String, from other: IsolationTarget) -> String {
        let names = [
            (other.path, path), (other.session, session), (other.subscriber, subscriber), (other.text, text),
            ("named \(other.subscription)", "named \(subscription)"), (String(other.task), String(task)),
            (String(other.decision), String(decision)),
            (String(other.uid), String(uid)),
        ]
        return names.reduce(answer) { $0.replacing($1.0, with: $1.1) }
    }
}

/// A task of each kind and state, a session, a subscriber, a token and resume data, all with her name in them.
struct AnnasThings {
    static let mark = "anna"

    let probe: RPCProbe
    let target: IsolationTarget
    let tasks: [Int64]
    let data: Int64
    let completed: Int64
    let resumeData: String
    let token = "anna-token"
    let home: String

    init(in house: IsolationHouse) async throws {
        let uid = IsolationHouse.anna
        probe = try await house.probe(uid)
        home = house.home(uid)
        house.origin.serve("/anna-missing", .status(404))
        house.origin.serve("/anna-data", .status(200, body: "anna-body"))
        house.origin.serve("/anna-half", .good(.version(2, size: 400_000), cutAfter: 200_000), .silent)
        try await probe.call("session.open", ["id": "photos"])
        try await probe.call(
            "cookies.set", ["cookies": [["name": "anna-cookie", "value": "anna-value", "domain": "localhost"]]])
        try await probe.call(
            "credentials.set",
            [
                "protectionSpace": ["host": "localhost"],
                "credential": ["username": "anna", "password": "anna-password"],
            ])
        try await probe.call(
            "session.open",
            [
                "id": "anna-photos",
                "configuration": [
                    "subscriber": "anna-sub", "directory": .string(home + "/anna-folder"), "asks": ["challenge"],
                ],
            ])
        let paused = try await house.add(
            probe, uid, "/anna-file", to: "anna-file",
            [
                "startPaused": true, "description": "anna-text", "tags": ["anna-tag"],
                "clientToken": .string(token),
            ], session: "anna-photos")
        completed = try await house.add(probe, uid, "/anna-done", to: "anna-done", session: "anna-photos")
        let failed = try await house.add(probe, uid, "/anna-missing", to: "anna-failed")
        let cancelled = try await house.add(probe, uid, "/anna-gone", to: "anna-gone", ["startPaused": true])
        data = try await probe.add([["kind": "data", "url": .string(house.origin.url("/anna-data"))]])[0]
        house.origin.serve("/anna-asks", .status(401, [("WWW-Authenticate", "Basic realm=\"anna-realm\"")]))
        let asking = try await house.add(probe, uid, "/anna-asks", to: "anna-asked", session: "anna-photos")
        try await probe.wait(for: asking, "waiting")
        let decision = try await probe.call("decision.list")["decisions"]?.arrayValue?.first?["decision"]?.integerValue
        let half = try await house.add(probe, uid, "/anna-half", to: "anna-half")
        try await probe.wait(for: half, bytes: 200_000)
        let blob = try await probe.call("task.resumeData", ["id": .integer(half)])["resumeData"]?.stringValue
        guard let blob else { throw SupportError("no resume data") }
        resumeData = blob
        try await probe.control("cancel", cancelled)
        try await probe.wait(for: completed, "completed")
        try await probe.wait(for: data, "completed")
        try await probe.wait(for: failed, "failed")
        tasks = [paused, completed, failed, cancelled, data, half, asking]
        let subscription = try await probe.call("events.subscribe", ["after": "now", "subscriber": "anna-sub"])
        try await probe.call("events.ack", ["subscriber": "anna-sub", "sequence": 3])
        let page = try await probe.call("task.list", ["limit": 1])
        target = IsolationTarget(
            uid: uid, task: paused, decision: decision ?? 0, session: "anna-photos", subscriber: "anna-sub",
            subscription: subscription["subscription"]?.stringValue ?? "",
            cursor: page["nextCursor"]?.stringValue ?? "",
            text: "anna-text", path: home + "/anna-file")
    }

    /// Everything that she can see, and the bytes of her files. It must be the same before and after the attempts of
    /// others.
    func everything() async throws -> [JSONValue] {
        var all: [JSONValue] = []
        for (method, parameters) in [
            ("session.list", [:]), ("task.list", ["limit": 1000]), ("events.list", ["after": "start", "limit": 1000]),
            ("decision.list", [:]), ("cookies.list", ["secrets": true]), ("cache.info", [:]),
            ("credentials.list", [:]), ("hsts.list", [:]), ("trust.list", [:]),
        ] as [(String, JSONValue)] {
            var members = try await probe.call(method, parameters).members
            members["head"] = nil
            all.append(.object(members))
        }
        for id in tasks { all.append(try await probe.task(id)) }
        for name in Files.names(in: home) {
            all.append([.string(name), .integer(Int64((try? Files.read("\(home)/\(name)").hashValue) ?? 0))])
        }
        return all
    }
}

extension RPCProbe {
    /// The raw answer to a call, with the same id each time.
    func line(_ method: String, _ parameters: JSONValue) async throws -> String {
        try await send(line: ["jsonrpc": "2.0", "id": "q", "method": .string(method), "params": parameters])
        while let bytes = try await nextLine() {
            let line = String(decoding: bytes, as: UTF8.self)
            if line.contains("\"id\":\"q\"") { return line }
        }
        throw SupportError("the daemon closed the connection")
    }
}

extension JSONValue {
    /// The members of an object; none for anything else.
    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }
}

extension String {
    /// The text without what counts for all users together: the head of the log, and names of subscriptions.
    var maskingHeads: String {
        replacing(#/"head":\d+/#, with: "\"head\":0").replacing(
            #/"subscription":"s\d+"/#, with: "\"subscription\":\"s\"")
    }
}
