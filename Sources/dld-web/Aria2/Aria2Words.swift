import TransferModel

/// The methods of aria2 1.37.
enum Aria2Method: String, CaseIterable, Sendable {
    case addUri = "aria2.addUri"
    case addTorrent = "aria2.addTorrent"
    case addMetalink = "aria2.addMetalink"
    case remove = "aria2.remove"
    case forceRemove = "aria2.forceRemove"
    case pause = "aria2.pause"
    case forcePause = "aria2.forcePause"
    case pauseAll = "aria2.pauseAll"
    case forcePauseAll = "aria2.forcePauseAll"
    case unpause = "aria2.unpause"
    case unpauseAll = "aria2.unpauseAll"
    case tellStatus = "aria2.tellStatus"
    case getUris = "aria2.getUris"
    case getFiles = "aria2.getFiles"
    case getPeers = "aria2.getPeers"
    case getServers = "aria2.getServers"
    case tellActive = "aria2.tellActive"
    case tellWaiting = "aria2.tellWaiting"
    case tellStopped = "aria2.tellStopped"
    case changePosition = "aria2.changePosition"
    case changeUri = "aria2.changeUri"
    case getOption = "aria2.getOption"
    case changeOption = "aria2.changeOption"
    case getGlobalOption = "aria2.getGlobalOption"
    case changeGlobalOption = "aria2.changeGlobalOption"
    case getGlobalStat = "aria2.getGlobalStat"
    case purgeDownloadResult = "aria2.purgeDownloadResult"
    case removeDownloadResult = "aria2.removeDownloadResult"
    case getVersion = "aria2.getVersion"
    case getSessionInfo = "aria2.getSessionInfo"
    case shutdown = "aria2.shutdown"
    case forceShutdown = "aria2.forceShutdown"
    case saveSession = "aria2.saveSession"
    case multicall = "system.multicall"
    case listMethods = "system.listMethods"
    case listNotifications = "system.listNotifications"

    /// As in aria2, they take no secret: they tell and change nothing.
    static let open: Set<Aria2Method> = [.multicall, .listMethods, .listNotifications]
}

/// What a client that listens is told about a download.
enum Aria2Notification: String, CaseIterable, Sendable {
    case start = "aria2.onDownloadStart"
    case pause = "aria2.onDownloadPause"
    case stop = "aria2.onDownloadStop"
    case complete = "aria2.onDownloadComplete"
    case error = "aria2.onDownloadError"

    /// nil for events that change no state that aria2 knows.
    init?(event: String) {
        switch event {
        case "task.started": self = .start
        case "task.paused": self = .pause
        case "task.cancelled": self = .stop
        case "task.completed": self = .complete
        case "task.failed": self = .error
        default: return nil
        }
    }

    func message(_ gid: Aria2GID) -> [UInt8] {
        JSONCoding.encode(
            ["jsonrpc": "2.0", "method": .string(rawValue), "params": [["gid": .string("\(gid)")]]] as JSONValue)
    }
}

/// A refusal in the form of aria2's answers.
struct Aria2Error: Error, Hashable, Sendable {
    var code = 1
    var message: String

    init(_ message: String, code: Int = 1) { (self.code, self.message) = (code, message) }

    static let malformed = Aria2Error("Parse error.", code: -32700)
    static let invalid = Aria2Error("Invalid Request.", code: -32600)
    static let badParameters = Aria2Error("Invalid params.", code: -32602)
    static let unauthorized = Aria2Error("Unauthorized")
    static let torrent = Aria2Error("dld does not transfer torrents")
    static func notFound(_ gid: String) -> Aria2Error { Aria2Error("GID \(gid) is not found") }
    static func badGID(_ text: String) -> Aria2Error { Aria2Error("Invalid GID \(text)") }
    static func badOption(_ name: String, _ reason: String? = nil) -> Aria2Error {
        Aria2Error(
            "We encountered a problem while processing the option '--\(name)'." + (reason.map { " \($0)" } ?? ""))
    }

    var json: JSONValue { ["code": .integer(Int64(code)), "message": .string(message)] }

    /// The status with which aria2 sends it.
    var status: Int {
        switch code {
        case 1, -32600: 400
        default: 500
        }
    }
}

/// The parameters of a call, by place.
struct Aria2Parameters: Sendable {
    private var values: ArraySlice<JSONValue>

    init(_ values: [JSONValue]) { self.values = values[...] }

    /// Takes off the secret that stands before the others.
    mutating func takeSecret() -> String? {
        let prefix = "token:"
        guard let first = values.first?.stringValue, first.hasPrefix(prefix) else { return nil }
        values.removeFirst()
        return String(first.dropFirst(prefix.count))
    }

    /// nil if it is absent or null.
    subscript(place: Int) -> JSONValue? {
        let place = values.startIndex + place
        guard values.indices.contains(place), values[place] != .null else { return nil }
        return values[place]
    }

    func required<Value>(_ place: Int, _ read: (JSONValue) -> Value?) throws(Aria2Error) -> Value {
        guard let value = try optional(place, read) else {
            throw Aria2Error("The parameter at \(place) is required but missing.")
        }
        return value
    }

    func optional<Value>(_ place: Int, _ read: (JSONValue) -> Value?) throws(Aria2Error) -> Value? {
        guard let given = self[place] else { return nil }
        guard let value = read(given) else { throw Aria2Error("The parameter at \(place) has wrong type.") }
        return value
    }

    func string(_ place: Int) throws(Aria2Error) -> String { try required(place, \.stringValue) }
    func integer(_ place: Int) throws(Aria2Error) -> Int64 { try required(place, \.integerValue) }
    func strings(_ place: Int) throws(Aria2Error) -> [String] { try required(place, Self.strings) }
    func options(_ place: Int) throws(Aria2Error) -> Aria2Options {
        Aria2Options(try optional(place, \.objectValue) ?? [:])
    }

    /// The members of a status that are wanted; nil for all.
    func keys(_ place: Int) throws(Aria2Error) -> Set<String>? {
        let keys = try optional(place, Self.strings) ?? []
        return keys.isEmpty ? nil : Set(keys)
    }

    private static func strings(_ value: JSONValue) -> [String]? { value.arrayValue?.compactMap(\.stringValue) }
}

/// The rows of a list that `tellWaiting` and `tellStopped` name. A negative offset counts from the end, and then the order
/// is reversed.
struct Aria2Range: Hashable, Sendable {
    var first = 0
    var count = 0
    var isReversed = false

    init(offset: Int64, count: Int64, of total: Int) {
        guard count > 0, total > 0 else { return }
        let number = Int(min(count, Int64(total)))
        if offset >= 0 {
            guard offset < total else { return }
            first = Int(offset)
            self.count = min(number, total - first)
        } else {
            let last = Int64(total).addingReportingOverflow(offset).partialValue
            guard last >= 0, offset > -Int64.max else { return }
            first = max(0, Int(last) - number + 1)
            self.count = Int(last) - first + 1
            isReversed = true
        }
    }

    /// The same rows of the list in the opposite order.
    func mirrored(in total: Int) -> Aria2Range {
        var range = self
        range.first = total - first - count
        range.isReversed.toggle()
        return range
    }
}
