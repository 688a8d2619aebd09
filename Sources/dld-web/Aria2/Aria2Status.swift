import TransferModel

/// A task as aria2 tells it: every number is a string.
enum Aria2Status {
    /// The states that make up each of aria2's three lists.
    static let active = ["running"]
    static let waiting = ["queued", "waiting", "paused"]
    static let stopped = ["completed", "failed", "cancelled"]

    static func word(for state: String) -> String {
        switch state {
        case "running": "active"
        case "paused": "paused"
        case "completed": "complete"
        case "failed": "error"
        case "cancelled": "removed"
        default: "waiting"
        }
    }

    /// The number of an end (aria2c(1), EXIT STATUS).
    static func errorCode(_ task: JSONValue) -> Int? {
        switch task["state"]?.stringValue {
        case "completed": 0
        case "cancelled": 31
        case "failed": number(ofError: task["error"] ?? .null)
        default: nil
        }
    }

    private static func number(ofError error: JSONValue) -> Int {
        switch error["code"]?.stringValue.flatMap(ErrorCode.init(rawValue:)) {
        case .networkTimeout, .deadlineExceeded: 2
        case .httpStatus: error["details"]?["status"]?.integerValue == 404 ? 3 : 22
        case .diskFull, .diskQuota, .diskIO: 9
        case .destinationExists: 13
        case .networkDNS: 19
        case .authRequired, .authFailed: 24
        case .cancelled: 31
        case .integrityChecksum: 32
        case .badURL, .badField, .unknownField, .tooLarge, .unsupported, .tokenReused, .sessionNotFound,
            .sessionInvalidated, .sessionInUse, .taskNotFound, .taskWrongState, .decisionGone, .permissionDenied,
            .destinationNotWritable, .destinationBadPath, .sourceUnreadable, .sourceChanged, .networkConnect,
            .networkLost,
            .tlsUntrusted, .tlsFailed, .httpRedirectLimit, .httpProtocol, .validatorChanged, .integrityLength,
            .rpcMalformed, .rpcUnknownMethod, .plaintextRefused, .conditionsRefused, .cacheMiss, .helperFailed,
            .helperProtocol, .limitReached, .shuttingDown, .stateNewer, .internal, nil:
            1
        }
    }

    /// - Parameter keys: the members that are wanted; nil for all.
    static func json(_ task: JSONValue, keys: Set<String>? = nil) -> JSONValue {
        let state = task["state"]?.stringValue ?? ""
        let figures = Figures(task)
        var status: [String: JSONValue] = [
            "gid": .string(Aria2GID(of: task).map { "\($0)" } ?? ""), "status": .string(word(for: state)),
            "totalLength": text(figures.total), "completedLength": text(figures.received),
            "uploadLength": text(task["bytesSent"]?.integerValue ?? 0),
            "downloadSpeed": text(figures.rate), "uploadSpeed": "0", "connections": text(figures.connections),
            "pieceLength": text(pieceLength), "numPieces": text((figures.total + pieceLength - 1) / pieceLength),
            "dir": .string(Aria2Path(of: task).folder), "files": files(task),
        ]
        if let code = errorCode(task) {
            status["errorCode"] = text(Int64(code))
            status["errorMessage"] = .string(code == 0 ? "" : task["error"]?["message"]?.stringValue ?? "")
        }
        guard let keys else { return .object(status) }
        return .object(status.filter { keys.contains($0.key) })
    }

    static func files(_ task: JSONValue) -> JSONValue {
        let figures = Figures(task)
        return [
            [
                "index": "1", "path": .string(Aria2Path(of: task).path), "length": text(figures.total),
                "completedLength": text(figures.received), "selected": "true", "uris": uris(task),
            ]
        ]
    }

    static func urls(_ task: JSONValue) -> [String] {
        [task["url"]?.stringValue].compactMap { $0 } + (task["mirrors"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    static func uris(_ task: JSONValue) -> JSONValue {
        .array(
            urls(task).enumerated().map { ["uri": .string($1), "status": $0 == 0 ? "used" : "waiting"] })
    }

    /// The servers that are being read from.
    static func servers(_ task: JSONValue) -> JSONValue {
        let url = task["url"]?.stringValue ?? ""
        let server: JSONValue = [
            "uri": .string(url), "currentUri": .string(task["response"]?["url"]?.stringValue ?? url),
            "downloadSpeed": text(Figures(task).rate),
        ]
        return [["index": "1", "servers": [server]]]
    }

    static func global(_ stats: JSONValue) -> JSONValue {
        let count = { (states: [String]) in
            text(states.reduce(0) { $0 + (stats["tasks"]?[$1]?.integerValue ?? 0) })
        }
        return [
            "downloadSpeed": text(whole(stats["downloadRate"])),
            "uploadSpeed": text(whole(stats["uploadRate"])), "numActive": count(active),
            "numWaiting": count(waiting), "numStopped": count(stopped), "numStoppedTotal": count(stopped),
        ]
    }

    /// aria2's default. dld counts in bytes.
    private static let pieceLength: Int64 = 1 << 20

    private static func whole(_ value: JSONValue?) -> Int64 {
        Int64(exactly: (value?.numberValue ?? 0).rounded(.down)) ?? 0
    }

    static func text(_ number: Int64) -> JSONValue { .string("\(number)") }

    /// What is computed from a task's numbers.
    private struct Figures {
        let total: Int64
        let received: Int64
        let rate: Int64
        let connections: Int64

        init(_ task: JSONValue) {
            total = max(0, task["bytesExpected"]?.integerValue ?? 0)
            received = task["bytesReceived"]?.integerValue ?? 0
            rate = whole(task["rate"])
            let segments = task["segments"]?.arrayValue ?? []
            let active = segments.count { $0["active"]?.boolValue == true }
            connections = task["state"]?.stringValue == "running" ? Int64(max(1, active)) : 0
        }
    }
}
