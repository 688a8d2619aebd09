import Glibc
import TestSupport
import Threading

/// An FTP server of one file whose transfers the test controls, with one thread per connection. It knows only the
/// commands that libcurl sends, and only passive mode (RFC 959, RFC 2428).
final class ScriptedFTPServer: Sendable {
    struct Transfer: Sendable {
        var bytes: [UInt8]
        /// The reply after the bytes are sent and the data connection is closed. Nil means that none ever comes.
        var ending: String? = "226 done"
    }
    /// - Parameter offset: The offset in REST.
    typealias Script = @Sendable (_ offset: Int) -> Transfer

    private final class Shared: Sendable {
        let size: Int
        let answers: [String: String]
        let script: Script
        let commands = Guarded<[String]>([])
        let open = Guarded<[Int32]>([])
        let isStopping = Guarded(false)

        init(_ size: Int, _ answers: [String: String], _ script: @escaping Script) {
            self.size = size
            self.answers = answers
            self.script = script
        }
    }

    static let greeting = "greeting"

    private let port: UInt16
    private let shared: Shared

    /// - Parameters:
    ///   - size: The answer to SIZE.
    ///   - answers: Replies by command, or by `greeting`, if they differ from the usual ones.
    init(size: Int, answers: [String: String] = [:], _ script: @escaping Script) throws {
        let (shared, socket) = (Shared(size, answers, script), try ListeningSocket())
        self.shared = shared
        port = socket.port
        guard NamedThread.start("test-ftp", { Self.serve(socket, shared) }) else { throw TestFailure("no thread") }
    }

    deinit {
        shared.isStopping.withLock { $0 = true }
        shared.open.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    func url(_ name: String) -> String { "ftp://127.0.0.1:\(port)/\(name)" }
    var commands: [String] { shared.commands.withLock { $0 } }

    private static func serve(_ socket: ListeningSocket, _ shared: Shared) {
        while let connection = socket.accept(until: { shared.isStopping.withLock { $0 } }) {
            shared.open.withLock { $0.append(connection) }
            if !NamedThread.start("test-ftp", { converse(connection, shared) }) { close(connection) }
        }
    }

    private static func converse(_ descriptor: Int32, _ shared: Shared) {
        let control = ScriptedServer.Connection(descriptor: descriptor)
        var (offset, data): (Int, ListeningSocket?) = (0, nil)
        control.send("\(shared.answers[greeting] ?? "220 ready")\r\n")
        while let line = readLine(descriptor) {
            shared.commands.withLock { $0.append(line) }
            let (command, argument) = parted(line)
            switch command {
            case _ where shared.answers[command] != nil: control.send("\(shared.answers[command] ?? "")\r\n")
            case "USER": control.send("331 password\r\n")
            case "PASS": control.send("230 in\r\n")
            case "PWD": control.send("257 \"/\"\r\n")
            case "SIZE": control.send("213 \(shared.size)\r\n")
            case "MDTM": control.send("213 20200101000000\r\n")
            case "REST":
                offset = Int(argument) ?? 0
                control.send("350 from \(offset)\r\n")
            case "EPSV":
                data = try? ListeningSocket()
                control.send("229 here (|||\(data?.port ?? 0)|)\r\n")
            case "RETR":
                retrieve(shared.script(offset), data, control, shared)
                (offset, data) = (0, nil)
            default: control.send("200 well\r\n")
            }
        }
        shared.open.withLock { open in
            open.removeAll { $0 == descriptor }
            _ = close(descriptor)
        }
    }

    private static func retrieve(
        _ transfer: Transfer, _ socket: ListeningSocket?, _ control: ScriptedServer.Connection, _ shared: Shared
    ) {
        control.send("150 opening\r\n")
        guard let data = socket?.accept(until: { shared.isStopping.withLock { $0 } }) else { return }
        ScriptedServer.Connection(descriptor: data).send(transfer.bytes)
        close(data)
        if let ending = transfer.ending { control.send("\(ending)\r\n") }
    }

    private static func parted(_ line: String) -> (command: String, argument: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        return (parts.first?.uppercased() ?? "", parts.count > 1 ? String(parts[1]) : "")
    }

    /// Returns the line without its end, or nil if the peer has closed the connection.
    private static func readLine(_ descriptor: Int32) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1 {
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            if byte != 13 { line.append(byte) }
        }
        return nil
    }
}
