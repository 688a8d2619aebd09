import FoundationEssentials
import Glibc
import TransferModel
import TransferRPC

/// Writes the kept answer of a data task to the place that the user chose.
struct FetchedBody {
    var task: TaskView
    /// nil means standard output, unless the answer would spoil a terminal. `-` means standard output in any case.
    var output: String?
    var session: CommandSession

    /// - Throws: the daemon's refusal; `CommandFailure.local` if the answer cannot or should not be written.
    func deliver() async throws {
        let client = try await session.connect()
        if isToFile {
            var whole: [UInt8] = []
            try await pieces(client) { piece, _ in whole += piece }
            try write(whole)
        } else {
            var text = TerminalText()
            try await pieces(client) { try print($0, isFirst: $1, &text) }
        }
        await client.close()
    }

    /// The server answered with a status that is not a success.
    var isOfError: Bool { task.response?.status.map { !(200..<300).contains($0) } ?? false }

    /// Writes what the server sent with an error status to the same place; nothing if there was no such answer.
    func deliverOfError() throws {
        guard let response = task.response, isOfError else { return }
        let bytes = response.body.map(Self.bytes) ?? []
        var text = TerminalText()
        if isToFile { try write(bytes) } else { try print(bytes, isFirst: true, &text) }
        if response.body?.truncated == true {
            session.console.remark("the answer was longer than the \(bytes.count) bytes that are kept")
        }
    }

    private static func bytes(_ body: ResponseBody) -> [UInt8] {
        if let text = body.text { return Array(text.utf8) }
        return body.base64.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) } ?? []
    }

    private var isToFile: Bool { output.map { $0 != "-" } ?? false }

    private func write(_ bytes: [UInt8]) throws {
        let path = session.absolute(output ?? "")
        guard let code = Self.write(bytes, to: path) else { return }
        let copy = session.asker.command("dlctl fetch \(task.id) -o FILE")
        throw CommandFailure.local("\(Self.unwritable(path, code)); the answer is kept: \(copy)")
    }

    private func print(_ bytes: [UInt8], isFirst: Bool, _ text: inout TerminalText) throws {
        if output == "-" || !session.console.outputIsTerminal { return session.console.raw(bytes) }
        if isFirst, isBinary(bytes) { throw refusal }
        session.console.raw(text.harmless(bytes))
    }

    private func pieces(
        _ client: any DaemonCalling, _ take: (_ piece: [UInt8], _ isFirst: Bool) throws -> Void
    ) async throws {
        var offset: Int64 = 0
        while true {
            let piece = try await client.call(Methods.readBody, ReadBody(id: task.id, offset: offset))
            let bytes = [UInt8](Data(base64Encoded: piece.data) ?? Data())
            try take(bytes, offset == 0)
            offset += Int64(bytes.count)
            if piece.eof || bytes.isEmpty { return }
        }
    }

    private func isBinary(_ bytes: [UInt8]) -> Bool { Self.isBinary(bytes, type: task.response?.mimeType) }

    /// Tells whether these first bytes are not text: they contain a NUL, or are neither UTF-8 nor declared as text.
    static func isBinary(_ bytes: [UInt8], type: String?) -> Bool {
        if bytes.contains(0) { return true }
        if type?.hasPrefix("text/") ?? false { return false }
        return !isUTF8(bytes)
    }

    /// The last character may be incomplete.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        if String(validating: bytes, as: UTF8.self) != nil { return true }
        guard let start = bytes.indices.suffix(3).last(where: { bytes[$0] & 0xC0 == 0xC0 }) else { return false }
        let length =
            switch bytes[start] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 0
            }
        return bytes.count - start < length && bytes[(start + 1)...].allSatisfy { $0 & 0xC0 == 0x80 }
            && String(validating: bytes[..<start], as: UTF8.self) != nil
    }

    private var refusal: CommandFailure {
        let type = task.response?.mimeType.map { " (\(Printable.text($0, limit: 40)))" } ?? ""
        return .local(
            "the answer\(type) is binary and would spoil the terminal; it is kept: "
                + session.asker.command("dlctl fetch \(task.id) -o FILE"))
    }

    /// Writes into devices and pipes, and replaces files as a whole.
    /// - Returns: the errno if this failed.
    private static func write(_ bytes: [UInt8], to path: String) -> Int32? {
        do {
            try Data(bytes).write(to: URL(filePath: path), options: isSpecial(path) ? [] : .atomic)
            return nil
        } catch {
            return errno
        }
    }

    /// - Throws: `CommandFailure.local` if nothing can be written there now.
    static func requireWritable(_ path: String) throws {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw CommandFailure.local(unwritable(path, EISDIR))
        }
        let place = isSpecial(path) ? path : PathText.folder(of: path)
        guard access(place, isSpecial(path) ? W_OK : W_OK | X_OK) == 0 else {
            throw CommandFailure.local(unwritable(path, errno))
        }
    }

    private static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    private static func unwritable(_ path: String, _ code: Int32) -> String {
        "\(Printable.text(path)) cannot be written: \(String(cString: strerror(code)))"
    }
}

/// Makes text harmless for a terminal, piece by piece.
struct TerminalText {
    private var last: UInt8 = 0

    /// Returns the next piece. ASCII control characters except tabs and line ends become `?`, and those of C1 (ECMA-48
    /// section 5.3), which are C2 80 to C2 9F in UTF-8, become `¿`.
    mutating func harmless(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { byte in
            defer { last = byte }
            return switch byte {
            case 0x09, 0x0A, 0x0D: byte
            case 0x00...0x1F, 0x7F: UInt8(ascii: "?")
            case 0x80...0x9F where last == 0xC2: 0xBF
            default: byte
            }
        }
    }
}
