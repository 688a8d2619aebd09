import CSQLite
import Glibc

/// A private copy of a database that another program may be writing to, including its log.
///
/// The program holds a lock on the original for as long as it runs, so only a copy can be read. A copy taken during a
/// transaction may be inconsistent; then it is taken again. Source: https://www.sqlite.org/howtocorrupt.html, section
/// 1.2
final class DatabaseCopy {
    typealias Unreadable = BrowserCookies.Unreadable

    struct Row {
        fileprivate let statement: OpaquePointer

        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }

        /// The value of a cookie. It may be any bytes, and what is not text is not replaced silently.
        func value(_ column: Int32) -> Result<String, CookieRefusal> {
            String(validating: bytes(column), as: UTF8.self).map { .success($0) }
                ?? .failure(CookieRefusal(why: "its value is not text"))
        }

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        func bytes(_ column: Int32) -> [UInt8] {
            guard let start = sqlite3_column_blob(statement, column) else { return [] }
            return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }

    private static let parts = ["", "-wal", "-journal"]
    private static let tries = 5
    private static let largest: off_t = 256 << 20

    private let folder: String
    private var database: OpaquePointer?

    /// - Parameter copied: called after each try to copy it.
    init(of path: String, copied: () -> Void = {}) throws(Unreadable) {
        var template = Array("/tmp/dlctl-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Unreadable(why: "/tmp: \(Self.reason())") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for attempt in 1...Self.tries {
            do throws(Unreadable) {
                // A log of the last try does not belong to this copy.
                removeCopy()
                let before = Self.state(of: path)
                for part in Self.parts { try copy(path + part, to: "\(folder)/copy\(part)", isNeeded: part.isEmpty) }
                copied()
                if Self.state(of: path) == before, isWhole() { return }
                if attempt == Self.tries { throw Unreadable(why: "\(path) changes all the time, or is damaged") }
            } catch {
                remove()
                throw error
            }
        }
    }

    deinit { remove() }

    private func close() {
        sqlite3_close_v2(database)
        database = nil
    }

    private func remove() {
        removeCopy()
        rmdir(folder)
    }

    private func removeCopy() {
        close()
        for part in Self.parts + ["-shm"] { unlink("\(folder)/copy\(part)") }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }

    /// The lengths and times of the files.
    private static func state(of path: String) -> [Int] {
        parts.flatMap { part -> [Int] in
            var info = stat()
            guard stat(path + part, &info) == 0 else { return [] }
            return [Int(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec]
        }
    }

    private func copy(_ source: String, to target: String, isNeeded: Bool) throws(Unreadable) {
        let input = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard input >= 0 else {
            guard isNeeded || errno != ENOENT else { return }
            throw Unreadable(why: "\(source): \(Self.reason())")
        }
        defer { Glibc.close(input) }
        var info = stat()
        guard fstat(input, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size <= Self.largest else {
            throw Unreadable(why: "\(source) is not a file of at most 256 MiB")
        }
        let output = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw Unreadable(why: "\(target): \(Self.reason())") }
        defer { Glibc.close(output) }
        while true {
            let count = sendfile(output, input, nil, 1 << 20)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Unreadable(why: "\(source): \(Self.reason())") }
            if count == 0 { return }
        }
    }

    /// Opens the copy, and checks that it is a consistent database.
    private func isWhole() -> Bool {
        guard
            sqlite3_open_v2("\(folder)/copy", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nil) == SQLITE_OK
        else { return false }
        var answer = ""
        try? rows("PRAGMA quick_check(1)") { answer = $0.text(0) }
        return answer == "ok"
    }

    /// The version in the table `meta` of Chromium's databases.
    var version: Int64 {
        var version: Int64 = 0
        try? rows("SELECT value FROM meta WHERE key = 'version'") { version = $0.integer(0) }
        return version
    }

    /// - Throws: if the database does not have the tables and columns of the query.
    func rows(_ query: String, _ body: (Row) -> Void) throws(Unreadable) {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, query, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw Unreadable(why: "the database has another form than dlctl knows: \(message)")
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: body(Row(statement: statement))
            case SQLITE_DONE: return
            default: throw Unreadable(why: "the database cannot be read: \(message)")
            }
        }
    }

    private var message: String { sqlite3_errmsg(database).map { String(cString: $0) } ?? "out of memory" }
}
