import FleetDatabase
import Glibc

/// The `database` setting: a libpq connection string without a password (PostgreSQL's manual, 34.1.1).
///
/// libpq would take the environment only for what the string leaves out. Here the environment is the stronger one, so what
/// it says leaves the string.
struct ConnectionString: Hashable, Sendable {
    /// Why a text is refused: one sentence without the text itself, which may hold a password.
    struct Fault: Error, Hashable, Sendable {
        let message: String
    }

    /// Keywords and values, in libpq's words.
    let options: [String: String]

    /// What says where the server is. A service (`PGSERVICE`) says all of it.
    private static let place: Set = ["host", "hostaddr", "port", "dbname", "user", "service"]

    /// What libpq takes from the environment alone.
    init() { options = [:] }

    init(_ text: String, environment: [String: String]) throws(Fault) {
        guard !text.utf8.contains(0) else { throw Fault(message: "has a NUL") }
        var reason: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(text, &reason) else {
            defer { PQfreemem(reason) }
            let said = reason.map { String(cString: $0) }?.split(whereSeparator: \.isNewline).first.map(String.init)
            // libpq quotes what it does not understand.
            let hides = text.contains("@") || text.contains("password")
            throw Fault(message: "is not a connection string of libpq" + (hides ? "" : said.map { ": \($0)" } ?? ""))
        }
        defer { PQconninfoFree(parsed) }
        func isSet(_ variable: String) -> Bool { environment[variable]?.isEmpty == false }
        var options: [String: String] = [:]
        var next = parsed
        while let keyword = next.pointee.keyword.map({ String(cString: $0) }) {
            defer { next += 1 }
            guard let value = next.pointee.val.map({ String(cString: $0) }), !value.isEmpty else { continue }
            if keyword.hasSuffix("password") {
                throw Fault(message: "has a \(keyword); write it into ~/.pgpass, or into a service file")
            }
            let variable = next.pointee.envvar.map { String(cString: $0) }
            if variable.map(isSet) == true || isSet("PGSERVICE") && Self.place.contains(keyword) { continue }
            if keyword == "hostaddr", isSet("PGHOST") { continue }
            options[keyword] = value
        }
        self.options = options
    }
}
