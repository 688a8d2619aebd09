import Metalink
import TransferModel

/// Calls a method of the daemon.
/// - Throws: `TransferError`: its refusal, or that it is away.
typealias DaemonCall = @Sendable (_ method: String, _ parameters: JSONValue) async throws -> JSONValue

/// Answers aria2's JSON-RPC methods with those of the daemon, so that aria2's front ends work with dld unchanged.
actor Aria2Endpoint {
    struct Answer: Sendable {
        var status = 200
        var body: [UInt8]
        /// The request had the right secret.
        var hasSecret = false
    }

    /// What it needs from outside.
    struct Surroundings: Sendable {
        var call: DaemonCall
        /// nil: there is none, so that only trusted callers are served.
        var secret: String?
        /// Global options that the daemon does not have, from the last time.
        var options: [String: String] = [:]
        var keepOptions: @Sendable ([String: String]) -> Void = { _ in }
        /// `aria2.shutdown` was called: the endpoint ends once its answer is sent.
        var end: @Sendable () -> Void = {}
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
        var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    }

    /// What is known of the sender of a request.
    private struct Caller {
        var isTrusted: Bool
        var hasSecret = false
    }

    private static let mostRequests = 1000
    private static let mostRows = 10_000
    private static let page = 1000
    private static let patience = Duration.seconds(60)
    private static let freeGuesses = 5

    private let outside: Surroundings
    private let sessionID = (0..<20).map { _ in String(UInt8.random(in: 16...255), radix: 16) }.joined()
    private var global: Aria2Options
    /// When wrong secrets came, within the last minute.
    private var guesses: [ContinuousClock.Instant] = []
    /// The tasks with a number of their own, up to the id `indexed` and those that were added here.
    private var known: [Aria2GID: Int64] = [:]
    private var indexed: Int64 = 0
    /// Downloads that listeners take for started.
    private var started: Set<Int64> = []

    init(_ outside: Surroundings) {
        self.outside = outside
        global = Aria2Options(values: outside.options)
    }

    // MARK: Requests

    /// The answer to the text of one request or of a batch.
    /// - Parameter isTrusted: the caller needs no secret.
    func answer(_ text: [UInt8], isTrusted: Bool) async -> Answer {
        var caller = Caller(isTrusted: isTrusted)
        let request = try? JSONCoding.decode(JSONValue.self, from: text)
        var status = 200
        let json: JSONValue
        switch request {
        case .array(let batch) where batch.count <= Self.mostRequests:
            var answers: [JSONValue] = []
            for request in batch { answers.append(await answer(request, &caller).json) }
            json = .array(answers)
        case .some(let request): (json, status) = await answer(request, &caller)
        case nil: (json, status) = Self.refusal(.malformed, id: .null)
        }
        return Answer(status: status, body: JSONCoding.encode(json), hasSecret: caller.hasSecret)
    }

    /// The same for a request in a URL's query: `method`, `id` and `params`, which is base64 and alone is a batch.
    func answer(query: [String: String], isTrusted: Bool) async -> Answer {
        guard query["jsoncallback"] == nil, let parameters = Base64.decode(query["params"] ?? "W10=") else {
            let (json, status) = Self.refusal(.invalid, id: .null)
            return Answer(status: status, body: JSONCoding.encode(json))
        }
        guard let method = query["method"] else { return await answer(parameters, isTrusted: isTrusted) }
        guard let list = try? JSONCoding.decode(JSONValue.self, from: parameters) else {
            return await answer([], isTrusted: isTrusted)
        }
        let request: JSONValue = [
            "id": query["id"].map { .string($0) } ?? .null, "method": .string(method), "params": list,
        ]
        return await answer(JSONCoding.encode(request), isTrusted: isTrusted)
    }

    private func answer(_ request: JSONValue, _ caller: inout Caller) async -> (json: JSONValue, status: Int) {
        guard let id = request["id"], let name = request["method"]?.stringValue else {
            return Self.refusal(.invalid, id: request["id"] ?? .null)
        }
        do throws(Aria2Error) {
            let given = request["params"] ?? []
            guard let list = given.arrayValue else { throw .badParameters }
            let result = try await result(of: name, list, &caller, isNested: false)
            return (["id": id, "jsonrpc": "2.0", "result": result], 200)
        } catch {
            return Self.refusal(error, id: id)
        }
    }

    private static func refusal(_ error: Aria2Error, id: JSONValue) -> (json: JSONValue, status: Int) {
        (["id": id, "jsonrpc": "2.0", "error": error.json], error.status)
    }

    private func result(
        of name: String, _ list: [JSONValue], _ caller: inout Caller, isNested: Bool
    ) async throws(Aria2Error) -> JSONValue {
        var parameters = Aria2Parameters(list)
        let method = Aria2Method(rawValue: name)
        if !Aria2Method.open.contains(where: { $0 == method }) { try await admit(&caller, parameters.takeSecret()) }
        guard let method else { throw Aria2Error("No such method: \(name)") }
        if method == .multicall {
            guard !isNested else { throw Aria2Error("Recursive system.multicall forbidden.") }
            return try await results(of: try parameters.required(0, \.arrayValue), &caller)
        }
        do {
            return try await perform(method, parameters)
        } catch let error as Aria2Error {
            throw error
        } catch {
            throw Aria2Error((error as? TransferError)?.message ?? "dld does not answer.")
        }
    }

    private func results(of calls: [JSONValue], _ caller: inout Caller) async throws(Aria2Error) -> JSONValue {
        guard calls.count <= Self.mostRequests else { throw .badParameters }
        var results: [JSONValue] = []
        for call in calls {
            do throws(Aria2Error) {
                guard let name = call["methodName"]?.stringValue else {
                    throw Aria2Error("system.multicall expected struct.")
                }
                let list = call["params"]?.arrayValue ?? []
                results.append([try await result(of: name, list, &caller, isNested: true)])
            } catch {
                results.append(error.json)
            }
        }
        return .array(results)
    }

    /// A wrong secret is refused whoever gives it, as aria2 does; guessing is slowed down.
    private func admit(_ caller: inout Caller, _ given: String?) async throws(Aria2Error) {
        switch (given, outside.secret) {
        case (let given?, let secret?):
            if Secret.equal(given, secret) { return caller.hasSecret = true }
            let now = outside.now()
            guesses.removeAll { now - $0 > Self.patience }
            let mustWait = guesses.count >= Self.freeGuesses
            guesses = guesses.suffix(Self.freeGuesses) + [now]
            if mustWait { await outside.sleep(.seconds(1)) }
            throw .unauthorized
        case (_, nil), (nil, _): guard caller.isTrusted else { throw .unauthorized }
        }
    }

    // MARK: Methods

    private func perform(_ method: Aria2Method, _ parameters: Aria2Parameters) async throws -> JSONValue {
        switch method {
        case .addUri: return try await addURI(parameters)
        case .addTorrent: throw Aria2Error.torrent
        case .addMetalink: return try await addMetalink(parameters)
        case .remove, .forceRemove:
            return try await control("task.cancel", parameters, ["keepPartial": true]) {
                "Active Download not found for GID#\($0)"
            }
        case .pause, .forcePause:
            return try await control("task.pause", parameters) { "GID#\($0) cannot be paused now" }
        case .unpause: return try await control("task.resume", parameters) { "GID#\($0) cannot be unpaused now" }
        case .pauseAll, .forcePauseAll: return try await controlAll("task.pause", ["queued", "running", "waiting"])
        case .unpauseAll: return try await controlAll("task.resume", ["paused"])
        case .purgeDownloadResult: return try await controlAll("task.remove", Aria2Status.stopped)
        case .removeDownloadResult:
            _ = try await control("task.remove", parameters) { "Could not remove download result of GID#\($0)" }
            return "OK"
        case .tellStatus: return Aria2Status.json(try await task(parameters), keys: try parameters.keys(1))
        case .getUris: return Aria2Status.uris(try await task(parameters))
        case .getFiles: return Aria2Status.files(try await task(parameters))
        case .getServers:
            let task = try await task(parameters)
            guard task["state"] == "running" else {
                throw Aria2Error("No active download for GID#\(try parameters.string(0))")
            }
            return Aria2Status.servers(task)
        case .getPeers:
            _ = try await task(parameters)
            return []
        case .tellActive:
            let keys = try parameters.keys(0)
            return .array(
                try await rows(Aria2Status.active, order: "activity", 0, Self.mostRows) {
                    Aria2Status.json($0, keys: keys)
                })
        case .tellWaiting: return try await tell(parameters, Aria2Status.waiting, order: "queue", isNewestFirst: false)
        case .tellStopped:
            return try await tell(parameters, Aria2Status.stopped, order: "finished", isNewestFirst: true)
        case .changePosition: return try await changePosition(parameters)
        case .changeUri: return try await changeURI(parameters)
        case .getOption: return Aria2Options(of: try await task(parameters)).json
        case .changeOption: return try await changeOption(parameters)
        case .getGlobalOption: return try await globalOptions()
        case .changeGlobalOption: return try await changeGlobalOption(try parameters.options(0))
        case .getGlobalStat: return Aria2Status.global(try await call("daemon.stats"))
        case .getVersion:
            return [
                "version": "1.37.0",
                "enabledFeatures": ["Async DNS", "GZip", "HTTPS", "Message Digest", "Metalink", "SFTP"],
            ]
        case .getSessionInfo: return ["sessionId": .string(sessionID)]
        case .shutdown, .forceShutdown:
            outside.end()
            return "OK"
        case .saveSession: return "OK"
        case .listMethods, .multicall: return .array(Aria2Method.allCases.map { .string($0.rawValue) })
        case .listNotifications: return .array(Aria2Notification.allCases.map { .string($0.rawValue) })
        }
    }

    private func call(_ method: String, _ parameters: [String: JSONValue] = [:]) async throws -> JSONValue {
        try await outside.call(method, .object(parameters))
    }

    /// - Returns: the download's number.
    private func control(
        _ method: String, _ parameters: Aria2Parameters, _ more: [String: JSONValue] = [:],
        otherwise: (String) -> String
    ) async throws -> JSONValue {
        let task = try await task(parameters, withSecrets: false)
        let gid = Aria2GID(of: task)?.description ?? ""
        let result = try await call(method, more.merging(["ids": [task["id"] ?? .null]]) { $1 })
        guard result["changed"]?.arrayValue?.isEmpty == false else { throw Aria2Error(otherwise(gid)) }
        return .string(gid)
    }

    private func controlAll(_ method: String, _ states: [String]) async throws -> JSONValue {
        _ = try await call(method, ["all": true, "states": .array(states.map { .string($0) })])
        return "OK"
    }

    // MARK: Adding

    private func addURI(_ parameters: Aria2Parameters) async throws -> JSONValue {
        let uris = try parameters.strings(0)
        let options = try parameters.options(1)
        guard let first = uris.first else { throw Aria2Error("URI is not provided.") }
        guard !uris.contains(where: Self.isTorrent) else { throw Aria2Error.torrent }
        var spec: [String: JSONValue] = ["url": .string(first)]
        if uris.count > 1 { spec["mirrors"] = .array(uris.dropFirst().map { .string($0) }) }
        let position = try parameters.optional(2, \.integerValue)
        return try await add([spec], options, at: position).first ?? .null
    }

    private static func isTorrent(_ url: String) -> Bool {
        let address = url.lowercased().prefix { $0 != "?" && $0 != "#" }
        return address.hasPrefix("magnet:") || address.hasSuffix(".torrent")
    }

    private func addMetalink(_ parameters: Aria2Parameters) async throws -> JSONValue {
        guard let bytes = Base64.decode(try parameters.string(0)) else {
            throw Aria2Error("The Metalink is not base64.")
        }
        let files: [Metalink.File]
        do throws(MetalinkError) { files = try Metalink(bytes).files } catch { throw Aria2Error("\(error)") }
        let options = try parameters.options(1).without(Aria2Options.single.subtracting(["pause"]))
        let folder = options.over(global)["dir"]
        let specs = try files.map { file -> [String: JSONValue] in
            guard let url = file.urls.first else { throw Aria2Error("\(file.name): no link that dld can use") }
            var spec = TaskSpec()
            spec.url = url
            if file.urls.count > 1 { spec.mirrors = Array(file.urls.dropFirst().prefix(64)) }
            (spec.checksum, spec.size, spec.pieces) = (file.checksums.first, file.size, file.pieces)
            let place = Aria2Options(
                values: ["dir": folder, "out": folder == nil ? Aria2Path.name(file.name) : file.name].compactMapValues {
                    $0
                })
            var json = try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(spec)).objectValue ?? [:]
            json["destination"] = try place.destination()
            return json
        }
        return .array(try await add(specs, options, at: try parameters.optional(2, \.integerValue)))
    }

    /// Adds all or none.
    private func add(_ specs: [[String: JSONValue]], _ options: Aria2Options, at position: Int64?) async throws
        -> [JSONValue]
    {
        let effective = options.over(global.without(Aria2Options.single))
        var tasks: [JSONValue] = []
        var gids: [Aria2GID] = []
        for spec in specs {
            let gid = try await newGID(options["gid"])
            var task = try effective.members(url: spec["url"]?.stringValue ?? "")
            task.merge(spec) { _, own in own }
            task["attributes"] = options.attributes(over: [:], gid: gid)
            if options["continue"] == "true" { task["resumeData"] = try await bytesHeld(for: task) }
            tasks.append(.object(task))
            gids.append(gid)
        }
        let added = try await call("task.add", ["tasks": .array(tasks)])["tasks"]?.arrayValue ?? []
        for (task, gid) in zip(added, gids) { known[gid] = task["id"]?.integerValue }
        if let position {
            for (offset, task) in added.enumerated() {
                _ = try await move(task["id"]?.integerValue ?? 0) { count, _ in
                    Int(min(position, Int64(count))) + offset
                }
            }
        }
        return gids.map { .string("\($0)") }
    }

    /// Clients that pause by removing add the same again, to go on from the bytes of what they removed.
    private func bytesHeld(for task: [String: JSONValue]) async throws -> JSONValue? {
        guard let url = task["url"]?.stringValue, url.utf8.count <= 4096 else { return nil }
        let removed = try await call(
            "task.list",
            ["states": ["cancelled"], "kinds": ["download"], "match": .string(url), "order": "newest"])
        let match = removed["tasks"]?.arrayValue?.first { other in
            guard other["url"]?.stringValue == url, other["bytesReceived"]?.integerValue ?? 0 > 0 else { return false }
            guard let given = task["destination"] else { return other["destination"]?["isDefault"] == true }
            return ["path", "directory", "filename"].allSatisfy { given[$0] == other["destination"]?[$0] }
        }
        guard let id = match?["id"] else { return nil }
        return try? await call("task.resumeData", ["id": id])["resumeData"]
    }

    private func newGID(_ text: String?) async throws -> Aria2GID {
        guard let text else { return .random() }
        guard let gid = Aria2GID(text.lowercased()) else { throw Aria2Error.badGID(text) }
        guard try await find("\(gid)") == nil else { throw Aria2Error("GID \(gid) is already used") }
        return gid
    }

    // MARK: Changing

    private func changePosition(_ parameters: Aria2Parameters) async throws -> JSONValue {
        let task = try await task(parameters, withSecrets: false)
        let offset = Int(clamping: try parameters.integer(1))
        let how = try parameters.string(2)
        guard ["POS_SET", "POS_CUR", "POS_END"].contains(how) else { throw Aria2Error("Illegal argument.") }
        let place = try await move(task["id"]?.integerValue ?? 0) { count, current in
            let origin =
                switch how {
                case "POS_CUR": current
                case "POS_END": count - 1
                default: 0
                }
            return origin.addingReportingOverflow(offset).partialValue
        }
        guard let place else { throw Aria2Error("GID#\(try parameters.string(0)) not found in the waiting queue.") }
        return .integer(Int64(place))
    }

    /// Gives a waiting task a place among the others.
    /// - Parameter target: gets the number of waiting tasks and the present place.
    /// - Returns: the new place; nil if the task does not wait.
    private func move(_ id: Int64, to target: (_ count: Int, _ current: Int) -> Int) async throws -> Int? {
        var queue = try await rows(Aria2Status.waiting, order: "queue", 0, .max) {
            ["id": $0["id"] ?? .null, "position": $0["position"] ?? 0]
        }
        guard let current = queue.firstIndex(where: { $0["id"]?.integerValue == id }) else { return nil }
        let place = max(0, min(queue.count - 1, target(queue.count, current)))
        guard place != current else { return place }
        queue.remove(at: current)
        let position: JSONValue
        if place == 0 {
            position = "first"
        } else if place == queue.count {
            position = "last"
        } else {
            let neighbours = queue[place - 1...place].map { $0["position"]?.numberValue ?? 0 }
            position = .number((neighbours[0] + neighbours[1]) / 2)
        }
        _ = try await call("task.update", ["id": .integer(id), "position": position])
        return place
    }

    private func changeURI(_ parameters: Aria2Parameters) async throws -> JSONValue {
        let task = try await task(parameters)
        guard try parameters.integer(1) == 1 else { throw Aria2Error("fileIndex is out of range") }
        let (removed, added) = (try parameters.strings(2), try parameters.strings(3))
        let old = Aria2Status.urls(task)
        var urls = old
        for url in removed { urls.firstIndex(of: url).map { _ = urls.remove(at: $0) } }
        let removals = old.count - urls.count
        let place = try parameters.optional(4, \.integerValue).map { max(0, min(urls.count, Int(clamping: $0))) }
        urls.insert(contentsOf: added, at: place ?? urls.count)
        guard let first = urls.first else { throw Aria2Error("A download needs at least one URI.") }
        var changes: [String: JSONValue] = [:]
        if first != old.first { changes["url"] = .string(first) }
        if urls.dropFirst() != old.dropFirst() { changes["mirrors"] = .array(urls.dropFirst().map { .string($0) }) }
        if !changes.isEmpty {
            changes["id"] = task["id"]
            _ = try await call("task.update", changes)
        }
        return [.integer(Int64(removals)), .integer(Int64(added.count))]
    }

    private func changeOption(_ parameters: Aria2Parameters) async throws -> JSONValue {
        let task = try await task(parameters)
        let options = try parameters.options(1).without(["gid", "pause"])
        let state = task["state"]?.stringValue ?? ""
        guard !Aria2Status.stopped.contains(state) else {
            throw Aria2Error("Cannot change option for GID#\(try parameters.string(0))")
        }
        var changes = try options.members(url: task["url"]?.stringValue ?? "", of: task)
        // Some changes begin another attempt: what is as it was stays out.
        changes = changes.filter {
            $0.value != task[$0.key] && !($0.key == "rateLimit" && $0.value == 0 && task[$0.key] == nil)
        }
        let attributes = task["attributes"]?.objectValue ?? [:]
        let kept = options.over(Aria2Options(kept: task)).attributes(over: attributes, gid: nil)
        if kept != .object(attributes) { changes["attributes"] = kept }
        guard !changes.isEmpty else { return "OK" }
        changes["id"] = task["id"]
        _ = try await call("task.update", changes)
        return "OK"
    }

    /// The names of aria2's global options that are settings of the daemon.
    private static let settings = [
        "max-overall-download-limit": "downloadRateLimit", "max-overall-upload-limit": "uploadRateLimit",
        "max-concurrent-downloads": "maximumConcurrentTasks",
    ]

    private func globalOptions() async throws -> JSONValue {
        let settings = try await call("settings.get")
        var values = Aria2Options.defaults.merging(global.values) { _, kept in kept }
        for (option, setting) in Self.settings {
            values[option] = settings[setting]?["value"]?.integerValue.map { "\($0)" }
        }
        if values["dir"] == nil { values["dir"] = try await defaultFolder() }
        return Aria2Options(values: values).json
    }

    /// Where downloads go that name no folder.
    private func defaultFolder() async throws -> String {
        if let folder = try await call("daemon.info")["userDirectory"]?.stringValue { return folder }
        let session = try? await call("session.get", ["id": "shared"])
        if let folder = session?["configuration"]?["directory"]?.stringValue { return folder }
        let settings = try await call("settings.list")["settings"]?.arrayValue
        return settings?.first { $0["name"] == "session.directory" }?["value"]?.stringValue ?? ""
    }

    private func changeGlobalOption(_ options: Aria2Options) async throws -> JSONValue {
        let kept = options.without(Aria2Options.single.union(Self.settings.keys).union(["rpc-secret"]))
        // Refuses what no download could have.
        _ = try kept.members(url: "")
        var changes: [String: JSONValue] = [:]
        for (option, setting) in Self.settings {
            let isCount = option == "max-concurrent-downloads"
            changes[setting] = try (isCount ? options.number(option, in: 1...Int64(Int32.max)) : options.size(option))
                .map { .integer($0) }
        }
        if !changes.isEmpty { _ = try await call("settings.set", changes) }
        guard !kept.values.isEmpty else { return "OK" }
        global = kept.over(global)
        outside.keepOptions(global.values)
        return "OK"
    }

    // MARK: Finding

    /// The task that the first parameter names, by its number or the beginning of it.
    /// - Parameter withSecrets: with all of its URLs and headers, which clients give back when they add it again.
    private func task(_ parameters: Aria2Parameters, withSecrets: Bool = true) async throws -> JSONValue {
        let text = try parameters.string(0)
        guard !text.isEmpty, text.utf8.count <= Aria2GID.digits, Aria2GID.isHexadecimal(text) else {
            throw Aria2Error.badGID(text)
        }
        guard let id = try await find(text.lowercased()) else { throw Aria2Error.notFound(text) }
        do {
            return try await get(id, withSecrets: withSecrets)
        } catch let error as TransferError where error.code == .taskNotFound {
            known = known.filter { $0.value != id }
            throw Aria2Error.notFound(text)
        }
    }

    private func get(_ id: Int64, withSecrets: Bool) async throws -> JSONValue {
        do {
            return try await call(
                "task.get", withSecrets ? ["id": .integer(id), "secrets": true] : ["id": .integer(id)])
        } catch let error as TransferError where withSecrets && error.code == .permissionDenied {
            return try await call("task.get", ["id": .integer(id)])
        }
    }

    /// - Parameter text: lower-case digits.
    private func find(_ text: String) async throws -> Int64? {
        guard let gid = Aria2GID(text) else { return try await find(prefix: text) }
        if let id = known[gid] { return id }
        if let id = gid.task {
            let page = try await call("task.list", ["ids": [.integer(id)]])
            if let task = page["tasks"]?.arrayValue?.first, Aria2GID(of: task) == gid { return id }
        }
        try await visitTasks(after: indexed) { task in
            guard let id = task["id"]?.integerValue else { return }
            indexed = max(indexed, id)
            if let own = Aria2GID.own(of: task) { known[own] = id }
        }
        return known[gid]
    }

    private func find(prefix: String) async throws -> Int64? {
        var found: [Int64] = []
        try await visitTasks(after: 0) { task in
            guard found.count < 2, Aria2GID(of: task)?.description.hasPrefix(prefix) == true else { return }
            if let id = task["id"]?.integerValue { found.append(id) }
        }
        guard found.count < 2 else { throw Aria2Error("GID \(prefix) is not unique") }
        return found.first
    }

    private func visitTasks(after id: Int64, _ visit: (JSONValue) -> Void) async throws {
        var parameters: [String: JSONValue] = [
            "idRange": ["first": .integer(id + 1), "last": .integer(.max)], "limit": .integer(Int64(Self.page)),
        ]
        repeat {
            let page = try await call("task.list", parameters)
            page["tasks"]?.arrayValue?.forEach(visit)
            parameters["cursor"] = page["nextCursor"]
        } while parameters["cursor"] != nil
    }

    // MARK: Lists

    private func tell(
        _ parameters: Aria2Parameters, _ states: [String], order: String, isNewestFirst: Bool
    ) async throws -> JSONValue {
        let (offset, count) = (try parameters.integer(0), try parameters.integer(1))
        let keys = try parameters.keys(2)
        let list: [String: JSONValue] = [
            "states": .array(states.map { .string($0) }), "kinds": ["download"], "limit": 1, "total": true,
        ]
        let total = Int(try await call("task.list", list)["total"]?.integerValue ?? 0)
        let wanted = Aria2Range(offset: offset, count: min(count, Int64(Self.mostRows)), of: total)
        let range = isNewestFirst ? wanted.mirrored(in: total) : wanted
        let rows = try await rows(states, order: order, range.first, range.count) { Aria2Status.json($0, keys: keys) }
        return .array(range.isReversed ? rows.reversed() : rows)
    }

    /// Rows of a list, page by page, so that only what is made of them stays.
    private func rows(
        _ states: [String], order: String, _ first: Int, _ count: Int, _ make: (JSONValue) -> JSONValue
    ) async throws -> [JSONValue] {
        var rows: [JSONValue] = []
        var parameters: [String: JSONValue] = [
            "states": .array(states.map { .string($0) }), "kinds": ["download"], "order": .string(order),
            "limit": .integer(Int64(min(count, Self.page))),
        ]
        if first > 0 { parameters["offset"] = .integer(Int64(first)) }
        while rows.count < count {
            let page = try await call("task.list", parameters)
            rows += (page["tasks"]?.arrayValue ?? []).prefix(count - rows.count).map(make)
            guard let cursor = page["nextCursor"] else { break }
            parameters["offset"] = nil
            parameters["cursor"] = cursor
        }
        return rows
    }

    // MARK: Notifications

    /// What listeners are told when an event of the daemon has come; nil if nothing. Takes all events, in order.
    /// - Parameter isHeard: anybody listens.
    func notification(for event: JSONValue, isHeard: Bool = true) async -> [UInt8]? {
        guard let id = event["task"]?.integerValue, let type = event["type"]?.stringValue,
            let notification = Aria2Notification(event: type)
        else { return nil }
        // Each further attempt has the event of a start too.
        if notification == .start {
            guard started.insert(id).inserted else { return nil }
        } else {
            started.remove(id)
        }
        guard isHeard else { return nil }
        let page = try? await call("task.list", ["ids": [.integer(id)], "kinds": ["download"]])
        guard let task = page?["tasks"]?.arrayValue?.first, let gid = Aria2GID(of: task) else { return nil }
        return notification.message(gid)
    }
}
