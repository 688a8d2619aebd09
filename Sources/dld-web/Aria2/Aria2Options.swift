import TransferModel

/// The options of a download in aria2's words, and what they are in the daemon's. Options that dld does not know are kept,
/// because clients read back what they have set.
struct Aria2Options: Hashable, Sendable {
    /// The attribute in which a task keeps them, as a JSON object.
    static let attribute = "aria2.options"

    /// Several values of one option are lines.
    private(set) var values: [String: String]

    init(values: [String: String] = [:]) { self.values = values }

    init(_ members: [String: JSONValue]) { values = members.compactMapValues(Self.text) }

    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .bool(let isSet): isSet ? "true" : "false"
        case .integer(let number): "\(number)"
        case .array(let lines): lines.compactMap(\.stringValue).joined(separator: "\n")
        case .null, .number, .object: nil
        }
    }

    /// nil if it is absent or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// With the others in front of these.
    func over(_ others: Aria2Options) -> Aria2Options {
        Aria2Options(values: others.values.merging(values) { _, own in own })
    }

    func without(_ names: Set<String>) -> Aria2Options {
        Aria2Options(values: values.filter { !names.contains($0.key) })
    }

    /// Those that only one download can have.
    static let single: Set<String> = ["checksum", "gid", "out", "pause", "index-out", "select-file"]

    var json: JSONValue { .object(values.mapValues { .string($0) }) }
}

// MARK: - To the daemon

extension Aria2Options {
    /// The members of a task's specification, without its URLs.
    /// - Parameters:
    ///   - url: what the referrer `*` means.
    ///   - task: the task that is changed, with its secrets; nil for a new one.
    func members(url: String, of task: JSONValue? = nil) throws(Aria2Error) -> [String: JSONValue] {
        guard values["check-certificate"] != "false" else {
            throw .badOption("check-certificate", "dld always checks certificates.")
        }
        var members: [String: JSONValue] = [:]
        members["destination"] = try destination(of: task?["destination"])
        members["headers"] = try headers(url: url, of: task)
        for (name, option, other) in [("username", "http-user", "ftp-user"), ("password", "http-passwd", "ftp-passwd")]
        {
            members[name] = (self[option] ?? self[other]).map { .string($0) }
        }
        if members["username"] != nil, members["password"] == nil { members["password"] = task?["password"] }
        members["proxy"] = try proxy()
        members["rateLimit"] = try size("max-download-limit").map { .integer($0) }
        members["checksum"] = try checksum()
        if let policy = try conflictPolicy() { members["conflictPolicy"] = .string(policy) }
        if task != nil { return members }
        members["connections"] = try connections().map { .integer($0) }
        members["startPaused"] = try flag("pause").map { .bool($0) }
        members["preserveTime"] = try flag("remote-time").map { .bool($0) }
        members["retry"] = try retry()
        members["timeoutIntervalForRequest"] = try timeout().map { .integer($0) }
        return members
    }

    /// Of a limit, in bytes per second: `100K`.
    func size(_ name: String) throws(Aria2Error) -> Int64? {
        guard let text = self[name] else { return nil }
        let unit: Int64 =
            switch text.last {
            case "K", "k": 1 << 10
            case "M", "m": 1 << 20
            default: 1
            }
        guard let number = Int64(unit == 1 ? text : String(text.dropLast())), (0...(1 << 40)).contains(number) else {
            throw .badOption(name)
        }
        return number * unit
    }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(Aria2Error) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), range.contains(number) else { throw .badOption(name) }
        return number
    }

    private func flag(_ name: String) throws(Aria2Error) -> Bool? {
        switch self[name] {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw .badOption(name)
        }
    }

    /// `out` may name folders below `dir`.
    func destination(of current: JSONValue? = nil) throws(Aria2Error) -> JSONValue? {
        guard self["dir"] != nil || self["out"] != nil else { return nil }
        if let folder = self["dir"], !folder.hasPrefix("/") { throw .badOption("dir", "Give an absolute path.") }
        let path = current?["path"]?.stringValue
        let folder = self["dir"] ?? path.map(Aria2Path.folder) ?? current?["directory"]?.stringValue
        guard let out = self["out"] else { return folder.map { ["directory": .string($0)] } }
        let parts = out.split(separator: "/")
        guard !parts.isEmpty, !parts.contains("..") else { throw .badOption("out") }
        guard parts.count > 1 || folder == nil else {
            return [
                "directory": .string(folder ?? ""), "filename": .string(out.hasPrefix("/") ? String(parts[0]) : out),
            ]
        }
        guard parts.count > 1 else { return ["filename": .string(String(parts[0]))] }
        guard let folder else { throw .badOption("out", "Give dir too.") }
        return ["path": .string(Aria2Path.joined(folder, parts.joined(separator: "/")))]
    }

    /// `header`, `referer` and `user-agent` are fields of one list, which is replaced as a whole.
    private func headers(url: String, of task: JSONValue?) throws(Aria2Error) -> JSONValue? {
        guard ["header", "referer", "user-agent"].contains(where: { values[$0] != nil }) else { return nil }
        let current = Aria2Options.headers(of: task)
        var fields: [(String, String)] = []
        if values["header"] == nil {
            fields = current.others
        } else {
            for line in (values["header"] ?? "").split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, HeaderField.isToken(parts[0]) else { throw .badOption("header") }
                fields.append((String(parts[0]), String(parts[1].drop { $0 == " " })))
            }
        }
        let named: (String) -> Bool = { name in fields.contains { $0.0.lowercased() == name } }
        if !named("user-agent"), let agent = values["user-agent"] ?? current.agent, !agent.isEmpty {
            fields.append(("User-Agent", agent))
        }
        if !named("referer"), let referrer = values["referer"] ?? current.referrer, !referrer.isEmpty {
            fields.append(("Referer", referrer == "*" ? url : referrer))
        }
        return .array(fields.map { [.string($0.0), .string($0.1)] })
    }

    private static func headers(of task: JSONValue?) -> (others: [(String, String)], agent: String?, referrer: String?)
    {
        let pairs = task?["headers"]?.arrayValue?.compactMap { pair -> (String, String)? in
            guard let pair = pair.arrayValue, pair.count == 2, let name = pair[0].stringValue else { return nil }
            return (name, pair[1].stringValue ?? "")
        }
        let value = { (name: String) in pairs?.first { $0.0.lowercased() == name }?.1 }
        let others = pairs?.filter { !["user-agent", "referer"].contains($0.0.lowercased()) }
        return (others ?? [], value("user-agent"), value("referer"))
    }

    /// An empty one takes away that of the global options.
    private func proxy() throws(Aria2Error) -> JSONValue? {
        guard let text = values["all-proxy"] else { return nil }
        guard !text.isEmpty else { return "none" }
        var (scheme, rest) = ("http://", Substring(text))
        if let end = text.firstRange(of: "://") {
            (scheme, rest) = (String(text[..<end.upperBound]), text[end.upperBound...])
        }
        if let user = self["all-proxy-user"], !rest.contains("@") {
            rest = Aria2Path.escaped(user) + ":" + Aria2Path.escaped(values["all-proxy-passwd"] ?? "") + "@" + rest
        }
        return .string(scheme + rest)
    }

    private func checksum() throws(Aria2Error) -> JSONValue? {
        guard let text = self["checksum"] else { return nil }
        let parts = text.split(separator: "=", maxSplits: 1).map { $0.lowercased() }
        guard parts.count == 2, DigestAlgorithm(rawValue: parts[0]) != nil else { throw .badOption("checksum") }
        return ["algorithm": .string(parts[0]), "value": .string(parts[1])]
    }

    private func conflictPolicy() throws(Aria2Error) -> String? {
        let (overwrites, renames) = (try flag("allow-overwrite"), try flag("auto-file-renaming"))
        if overwrites == true { return "overwrite" }
        if renames == false { return "fail" }
        return overwrites == nil && renames == nil ? nil : "rename"
    }

    /// aria2 opens `max-connection-per-server` to each server, and no more than `split` together.
    private func connections() throws(Aria2Error) -> Int64? {
        let most = try number("max-connection-per-server", in: 1...Int64(Int32.max))
        let split = try number("split", in: 1...Int64(Int32.max))
        guard let fewest = [most, split].compactMap({ $0 }).min() else { return nil }
        return min(fewest, 64)
    }

    private func retry() throws(Aria2Error) -> JSONValue? {
        var policy: [String: JSONValue] = [:]
        policy["attempts"] = try number("max-tries", in: 0...Int64(Int32.max)).map { .integer($0) }
        if let wait = try number("retry-wait", in: 0...86400), wait > 0 {
            (policy["firstDelay"], policy["longestDelay"]) = (.integer(wait), .integer(wait))
        }
        return policy.isEmpty ? nil : .object(policy)
    }

    /// dld has one limit for each wait, that for a connection included. A short `connect-timeout` must not end the others.
    private func timeout() throws(Aria2Error) -> Int64? {
        let connect = try number("connect-timeout", in: 1...600)
        let timeout = try number("timeout", in: 1...600)
        guard let connect, connect > timeout ?? 60 else { return timeout }
        return connect
    }
}

// MARK: - From the daemon

extension Aria2Options {
    /// Those of a task: what was given, and for the rest what the task has.
    /// - Parameter task: with its secrets, as far as they may be seen.
    init(of task: JSONValue) {
        var found = Aria2Options.defaults
        let place = Aria2Path(of: task)
        found["dir"] = place.folder
        found["out"] =
            task["destination"]?["filename"]?.stringValue
            ?? task["destination"]?["path"]?.stringValue.map(Aria2Path.name)
        let headers = Self.headers(of: task)
        found["header"] = headers.others.isEmpty ? nil : headers.others.map { "\($0.0): \($0.1)\n" }.joined()
        found["user-agent"] = headers.agent
        found["referer"] = headers.referrer
        found["http-user"] = task["username"]?.stringValue
        found["http-passwd"] = task["password"]?.stringValue
        found["all-proxy"] = task["proxy"]?.stringValue.flatMap { $0 == "none" ? nil : $0 }
        if let connections = task["connections"]?.integerValue {
            (found["split"], found["max-connection-per-server"]) = ("\(connections)", "\(connections)")
        }
        if let checksum = task["checksum"], let value = checksum["value"]?.stringValue {
            found["checksum"] = "\(checksum["algorithm"]?.stringValue ?? "")=\(value)"
        }
        if let policy = task["conflictPolicy"]?.stringValue {
            found["allow-overwrite"] = policy == "overwrite" ? "true" : "false"
            found["auto-file-renaming"] = policy == "fail" ? "false" : "true"
        }
        if let attempts = task["retry"]?["attempts"]?.integerValue { found["max-tries"] = "\(attempts)" }
        found["remote-time"] = task["preserveTime"]?.boolValue == true ? "true" : "false"
        found["timeout"] = task["timeoutIntervalForRequest"]?.integerValue.map { "\($0)" } ?? "60"
        let kept = Aria2Options(kept: task)
        found.merge(kept.values) { _, given in given }
        // Clients read numbers here, and others may have changed it since.
        for name in kept.values.keys where name.hasSuffix("-limit") || name.hasSuffix("-size") {
            if let size = try? kept.size(name) { found[name] = "\(size)" }
        }
        found["max-download-limit"] = "\(task["rateLimit"]?.integerValue ?? 0)"
        values = found
    }

    /// What was given when the task was added or changed.
    init(kept task: JSONValue) {
        let text = task["attributes"]?[Self.attribute]?.stringValue ?? "{}"
        values = (try? JSONCoding.decode([String: String].self, from: Array(text.utf8))) ?? [:]
    }

    /// The text of the attribute. It has no secrets, because everybody who may see the task sees it: those come back from
    /// the task itself. What does not fit into `room` bytes is left out, the longest first.
    func attribute(room: Int) -> String? {
        let isSecret: (String) -> Bool = { name in
            name == "header" || name.hasSuffix("passwd") || name.hasSuffix("password") || name.contains("proxy")
        }
        var kept = values.filter { !isSecret($0.key) && $0.key != "gid" }
        while !kept.isEmpty {
            let text = JSONCoding.encode(kept)
            if text.count <= room { return String(decoding: text, as: UTF8.self) }
            guard let longest = kept.max(by: { $0.value.utf8.count < $1.value.utf8.count }) else { break }
            kept[longest.key] = nil
        }
        return nil
    }

    /// The attributes of a task whose own others are `attributes`.
    func attributes(over attributes: [String: JSONValue], gid: Aria2GID?) -> JSONValue {
        var all = attributes
        all[Self.attribute] = nil
        if let gid { all[Aria2GID.attribute] = .string("\(gid)") }
        let taken = all.reduce(0) { $0 + $1.key.utf8.count + ($1.value.stringValue?.utf8.count ?? 0) }
        all[Self.attribute] = attribute(room: Self.bytes - taken - Self.attribute.utf8.count).map { .string($0) }
        return .object(all)
    }

    /// All attributes of a task have this room.
    private static let bytes = 4096

    /// aria2's defaults of the options that clients show.
    static let defaults = [
        "allow-overwrite": "false", "auto-file-renaming": "true", "check-certificate": "true", "connect-timeout": "60",
        "continue": "true", "max-connection-per-server": "1", "max-download-limit": "0", "max-tries": "5",
        "max-upload-limit": "0", "min-split-size": "20971520", "remote-time": "false", "retry-wait": "0", "split": "5",
        "timeout": "60",
    ]
}

/// Where the file of a task is, or will be.
struct Aria2Path: Hashable, Sendable {
    var folder: String
    /// Empty until the name is known.
    var path: String

    init(of task: JSONValue) {
        let destination = task["destination"]
        if let file = task["file"]?.stringValue ?? destination?["path"]?.stringValue {
            (folder, path) = (Self.folder(file), file)
            return
        }
        folder = destination?["directory"]?.stringValue ?? ""
        let name = destination?["filename"]?.stringValue ?? Self.guess(task["url"]?.stringValue ?? "")
        path = name.isEmpty ? "" : Self.joined(folder, name)
    }

    static func folder(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "" }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }
    static func joined(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// The last segment of a URL's path.
    static func guess(_ url: String) -> String {
        let address = url.prefix { $0 != "?" && $0 != "#" }
        guard let start = address.firstRange(of: "://")?.upperBound, let slash = address[start...].lastIndex(of: "/")
        else { return "" }
        let name = String(address[address.index(after: slash)...])
        let decoded = unescaped(name) ?? name
        return decoded.contains("/") || decoded.contains("\0") || decoded == ".." || decoded == "." ? name : decoded
    }

    private static func unescaped(_ text: String) -> String? {
        var parts = text.split(separator: "%", omittingEmptySubsequences: false).map { Array($0.utf8) }
        var bytes = parts.removeFirst()
        for part in parts {
            guard part.count >= 2, let byte = UInt8(String(decoding: part.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
            bytes += part.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// For the user information of a URL (RFC 3986 section 3.2.1).
    static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            if byte < 128, character.isLetter || character.isNumber || "-._~".contains(character) {
                return String(character)
            }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.utf8.count < 2 ? "0" : "") + digits
        }.joined()
    }
}
