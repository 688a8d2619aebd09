import ArgumentParser
import FoundationEssentials
import Glibc
import TransferModel

struct AddCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Queue jobs.",
        discussion: """
            --spec gives what dld's task.add takes, such as {"url": "…", "kind": "data"}. With URLs, each gets the spec; the \
            other options set members of it. --spec - reads one spec per line.

            EXAMPLES:
              dld-fleet add -w -o /data/in/{id}-{name} https://example.org/f.iso
              dld-fleet add --pool media --priority 10 --label gpu URL URL
              dld-fleet add --token nightly --spec - < specs.jsonl
            """)

    @Option(help: .init("The pool.", valueName: "pool"))
    var pool = "default"
    @Option(parsing: .unconditional, help: .init("-100 to 100, higher first.", valueName: "n"))
    var priority: Int32 = 0
    @Option(help: .init("Not before: 2026-01-31T08:00:00Z, or +2h.", valueName: "time"))
    var runAt: MomentArgument?
    @Option(help: .init("Attempts before it fails, 1 to 100.", valueName: "n"))
    var maxAttempts: Int32 = 5
    @Option(
        help: .init(
            "Makes adding idempotent: a known token gives its job. Several jobs get -1, -2, … after it.",
            valueName: "token"))
    var token: String?
    @Option(parsing: .singleValue, help: .init("Only for nodes with this label; may be repeated.", valueName: "label"))
    var label: [String] = []
    @Option(parsing: .singleValue, help: .init("Send this header; may be repeated.", valueName: "name: value"))
    var header: [String] = []
    @Option(help: .init("What the file must hash to.", valueName: "alg:hex"))
    var checksum: String?
    @Option(
        name: .customShort("o"),
        help: .init(
            "Save as this file on the node, with {id}, {pool} and {name} replaced; a name alone is for its first folder.",
            valueName: "path"))
    var output: String?
    @Option(help: .init("A spec as JSON, or - for lines of them.", valueName: "json"))
    var spec: String?
    @Flag(name: .customShort("w"), help: "Wait until the jobs have ended, as watch does.")
    var wait = false
    @Option(help: .init("With -w: stop waiting after this time, with status 5.", valueName: "seconds"))
    var timeout: SecondsArgument?
    @Argument(help: .init("What to transfer.", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if urls.isEmpty, spec == nil { throw ValidationError("Name a URL, or give --spec.") }
        if spec == "-", !urls.isEmpty { throw ValidationError("--spec - reads whole specs; name no URL.") }
        if timeout != nil, !wait { throw ValidationError("--timeout goes with -w.") }
        _ = try members()
        if let spec, spec != "-" { _ = try Self.object(spec, "--spec") }
    }

    /// The members of a spec that the options set.
    func members() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        if !header.isEmpty { members["headers"] = .array(try header.map(Self.header)) }
        if let checksum {
            let parts = checksum.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            let known = DigestAlgorithm.allCases.first {
                [$0.rawValue, $0.rawValue.filter { $0 != "-" }].contains(name)
            }
            let value = parts.last?.lowercased() ?? ""
            guard let known, value.count == known.hexLength, value.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                let names = DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--checksum: give an algorithm (\(names)), a colon and the value in hex.")
            }
            members["checksum"] = ["algorithm": .string(known.rawValue), "value": .string(value)]
        }
        if let output {
            guard output.hasPrefix("/") || !output.contains("/"), !output.isEmpty else {
                throw ValidationError("-o: the node has no current folder; give an absolute path, or a name alone.")
            }
            guard urls.count <= 1 && spec != "-" || output.contains("{id}") || output.contains("{name}") else {
                throw ValidationError("-o: several jobs need {id} or {name} in it.")
            }
            members["destination"] = [output.hasPrefix("/") ? "path" : "filename": .string(output)]
        }
        return members
    }

    private static func header(_ text: String) throws -> JSONValue {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        // The value may be a secret, so it is not repeated.
        guard parts.count == 2, HeaderField.isToken(parts[0]), !text.utf8.contains(where: { $0 < 0x20 && $0 != 9 })
        else {
            throw ValidationError("--header: '\(Printable.text(String(parts[0].prefix(40))))' is not 'Name: value'.")
        }
        return [.string(String(parts[0])), .string(String(parts[1].drop { $0 == " " || $0 == "\t" }))]
    }

    private static func object(_ text: String, _ place: String) throws -> [String: JSONValue] {
        let value: JSONValue
        do throws(TransferError) {
            value = try JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
        } catch {
            throw ValidationError("\(place): \(error.message)")
        }
        guard let members = value.objectValue else { throw ValidationError("\(place): this is not a JSON object.") }
        return members
    }

    /// Every spec of the command line or of standard input.
    private func specs() throws -> [JSONValue] {
        let options = try members()
        if spec == "-" {
            var specs: [JSONValue] = []
            var number = 0
            while let line = readLine() {
                number += 1
                if line.allSatisfy(\.isWhitespace) { continue }
                specs.append(.object(try Self.object(line, "line \(number)").merging(options) { $1 }))
            }
            return specs
        }
        let base = try spec.map { try Self.object($0, "--spec") } ?? [:]
        guard !urls.isEmpty else { return [.object(base.merging(options) { $1 })] }
        return urls.map { url in .object(base.merging(options) { $1 }.merging(["url": .string(url)]) { $1 }) }
    }

    func run(_ session: FleetSession) throws {
        let specs = try specs()
        let tokens = token.map { token in specs.count == 1 ? [token] : specs.indices.map { "\(token)-\($0 + 1)" } }
        var ids: [Int64] = []
        var refusal: DatabaseError?
        do throws(DatabaseError) {
            if specs.count > 1000 { try session.database.allow(.seconds(120)) }
            for batch in Self.batches(specs) {
                ids += try enqueue(specs[batch], tokens.map { Array($0[batch]) }, session)
            }
        } catch {
            // What earlier batches made is there, and told.
            guard !ids.isEmpty, session.database.isOpen else { throw error }
            refusal = error
        }
        let states = try Dictionary(session.jobs(ids).map { ($0.id, $0.state) }) { first, _ in first }
        if global.json {
            let jobs = ids.map { id -> JSONValue in ["id": .integer(id), "state": .string(states[id] ?? "done")] }
            session.console.value(["jobs": .array(jobs)])
        } else {
            ids.forEach { session.console.line("\($0)  \(states[$0] ?? "done")") }
        }
        if let refusal { throw refusal }
        guard wait, !ids.isEmpty else { return }
        var watch = Watch(ids, timeout: timeout?.seconds, session)
        try watch.run()
    }

    /// At most 10,000 specs and, as far as that goes, 8 MiB in one call; each call queues all of its jobs or none.
    static func batches(_ specs: [JSONValue]) -> [Range<Int>] {
        var batches: [Range<Int>] = []
        var (start, size) = (0, 0)
        for (index, spec) in specs.enumerated() {
            let length = JSONCoding.encode(spec).count
            if index > start, index - start == 10_000 || size + length > 8 << 20 {
                batches.append(start..<index)
                (start, size) = (index, 0)
            }
            size += length
        }
        return start < specs.count ? batches + [start..<specs.count] : batches
    }

    private func enqueue(
        _ specs: ArraySlice<JSONValue>, _ tokens: [String]?, _ session: FleetSession
    ) throws(DatabaseError) -> [Int64] {
        try session.rows(
            """
            SELECT e.id FROM dld.enqueue_many($1::text, $2::jsonb[], $3::int,
                coalesce($4::timestamptz, now() + make_interval(secs => $5::float8)), $6::int, $7::text[], $8::text[])
                WITH ORDINALITY AS e (id, place) ORDER BY e.place
            """,
            [
                .init(pool), .init(array: Array(specs)), .init(priority), .init(runAt?.exact?.description),
                .init(seconds: runAt?.delay), .init(maxAttempts), .init(array: tokens), .init(array: label),
            ]
        ).compactMap { $0.integer("id") }
    }
}
