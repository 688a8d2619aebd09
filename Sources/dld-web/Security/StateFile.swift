import FoundationEssentials
import Glibc
import NIOConcurrencyHelpers
import TransferModel

/// What outlives the program, in one small file that only its user can read. Losing it signs everybody out.
final class StateFile: Sendable {
    struct Content: Sendable {
        var port: Int?
        var tokenKey = Secret.random(bits: 256)
        var sessions: [SignIn.Session] = []
        /// Global options of aria2's interface that dld does not have.
        var aria2Options: [String: String] = [:]
    }

    private let path: String
    /// Where a file that could not be read was put.
    let damaged: String?
    private let box: NIOLockedValueBox<Content>

    var content: Content { box.withLockedValue { $0 } }

    /// Reads `dld-web.json` in the folder, which is made if it is missing (0700). An unreadable file is kept beside it.
    /// - Throws: a sentence, if nothing can be written there.
    init(in folder: String) throws(SetupFailure) {
        // Each folder above it, from the top; mkdir(2) fails for those that exist.
        var reason: Int32?
        for (index, letter) in (folder + "/").enumerated() where letter == "/" && index > 0 {
            if mkdir(String(folder.prefix(index)), 0o700) != 0, errno != EEXIST { reason = errno }
        }
        path = folder + "/dld-web.json"
        let text = FileManager.default.contents(atPath: path)
        let stored = text.flatMap { try? JSONCoding.decode(JSONValue.self, from: Array($0), lenient: true) }
            .flatMap(Content.init(stored:))
        box = NIOLockedValueBox(stored ?? Content())
        let isDamaged = text != nil && stored == nil && rename(path, path + ".damaged") == 0
        damaged = isDamaged ? path + ".damaged" : nil
        guard write(content) else {
            throw SetupFailure(
                "\(path): cannot be written: \(String(cString: strerror(reason ?? errno))). Name another folder with --state-dir."
            )
        }
    }

    /// - Returns: whether the change is stored; it is in force in any case.
    @discardableResult
    func change(_ body: (inout Content) -> Void) -> Bool {
        // Under the lock, so that an older content never replaces a newer one.
        box.withLockedValue { content in
            body(&content)
            return write(content)
        }
    }

    /// Writes a new file and renames it, so that a crash leaves one of the two.
    private func write(_ content: Content) -> Bool {
        let text = JSONCoding.encode(content.stored)
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        let count = Glibc.write(descriptor, text, text.count)
        close(descriptor)
        return count == text.count && rename(temporary, path) == 0
    }
}

extension StateFile.Content {
    fileprivate init?(stored: JSONValue) {
        guard let key = stored["tokenKey"]?.stringValue, let list = stored["sessions"]?.arrayValue else { return nil }
        port = stored["port"]?.integerValue.flatMap { (1...65535).contains($0) ? Int($0) : nil }
        tokenKey = key
        aria2Options = stored["aria2Options"]?.objectValue?.compactMapValues(\.stringValue) ?? [:]
        sessions = list.compactMap { entry in
            guard let id = entry["id"]?.stringValue, let digest = entry["digest"]?.stringValue,
                let created = entry["createdAt"]?.numberValue, let used = entry["lastUsedAt"]?.numberValue,
                // A century, so that no sum overflows.
                (0...3.2e9).contains(created), (0...3.2e9).contains(used)
            else { return nil }
            return SignIn.Session(id: id, digest: digest, createdAt: created, lastUsedAt: used)
        }
    }

    fileprivate var stored: JSONValue {
        .object([
            "aria2Options": .object(aria2Options.mapValues { .string($0) }),
            "port": port.map { .integer(Int64($0)) } ?? .null, "tokenKey": .string(tokenKey),
            "sessions": .array(
                sessions.map {
                    [
                        "id": .string($0.id), "digest": .string($0.digest), "createdAt": .number($0.createdAt),
                        "lastUsedAt": .number($0.lastUsedAt),
                    ]
                }),
        ])
    }
}
