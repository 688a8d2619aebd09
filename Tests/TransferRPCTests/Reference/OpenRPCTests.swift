import TestSupport
import Testing
import TransferModel
import TransferRPC

/// What programs that generate clients expect of the OpenRPC document.
struct OpenRPCTests {
    private let document: JSONValue
    private let methods: [JSONValue]
    private let schemas: [String: JSONValue]

    init() throws {
        document = try ForeignJSON.value(ProtocolReference.openRPC().utf8)
        methods = try #require(document["methods"]?.arrayValue)
        schemas = try #require(document["components"]?["schemas"]?.objectValue)
    }

    @Test(.enabled(if: Requirements.hasPythonServers), .timeLimit(.minutes(1)))
    func theDocumentIsValidAndClientsAreGenerated() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("openrpc.json")
        try Files.write(file, ProtocolReference.openRPC())
        try await Program.require([
            try PythonEnvironment.python(), "-B", try PythonEnvironment.script("rpcdocument.py"), file,
            try folder.folder("clients"),
        ])
    }

    @Test func requiredParametersComeFirst() {
        for method in methods {
            let required = (method["params"]?.arrayValue ?? []).map { $0["required"]?.boolValue == true }
            let name = method["name"]?.stringValue ?? ""
            #expect(required == required.filter(\.self) + required.filter { !$0 }, "\(name)")
        }
        #expect(methods.contains { $0["params"]?.arrayValue?.last?["required"]?.boolValue == false })
    }

    @Test func eachErrorOfAMethodHasItsOwnInteger() {
        for method in methods {
            let codes = (method["errors"]?.arrayValue ?? []).compactMap { $0["code"]?.integerValue }
            #expect(codes.count >= RPCCatalog.commonErrors.count && Set(codes).count == codes.count)
        }
    }

    /// Reserved words of C, C++, C#, Go, Java, JavaScript, Kotlin, PHP, Python, Rust, Swift and TypeScript. Ruby is not
    /// among them: there, a word after a dot is always a name.
    private static let keywords = Set(
        """
        False None True abstract alignas alignof and array as asm assert associatedtype async auto await base become bitand
        bitor bool boolean box break byte callable case catch chan char checked class clone compl concept const consteval
        constexpr constinit continue crate debugger decimal declare decltype def default defer deinit del delegate delete
        die do double dyn echo elif else elseif empty enddeclare endfor endforeach endif endswitch endwhile enum eval event
        except exit explicit export extends extension extern fallthrough false fileprivate final finally fixed float fn for
        foreach friend from fun func function gen global go goto guard if impl implements implicit import in include init
        inline inout instanceof insteadof int interface internal is isset lambda let list lock long loop macro map match mod
        module move mut mutable namespace native new nil noexcept nonlocal not null nullptr object operator or out override
        package params pass print priv private protected protocol pub public raise range readonly ref register repeat
        require requires restrict rethrows return sbyte sealed select self short signed sizeof stackalloc static
        static_assert static_cast strictfp string struct subscript super switch synchronized template this throw throws
        trait transient true try type typealias typedef typeid typename typeof uint ulong unchecked undefined union unless
        unsafe unset unsigned unsized ushort use using val var virtual void volatile wchar_t when where while with xor yield
        """.split(whereSeparator: \.isWhitespace).map(String.init))

    /// Clients rely on these since before the rule, and generators escape them: `type` of events, `protocol` of
    /// protection spaces, exchanges and the daemon, `default` of questions, and `match` of listings.
    private static let kept: Set = [
        "Event.type", "Info.protocol", "Exchange.protocol", "ProtectionSpace.protocol", "CredentialSpace.protocol",
        "Decision.default", "task.list.match", "TaskSpec.interface", "SessionConfiguration.interface", "Task.interface",
        "task.update.interface",
    ]

    @Test func noMemberHasAKeywordAsItsName() {
        var found: Set<String> = []
        for method in methods {
            for name in (method["params"]?.arrayValue ?? []).compactMap({ $0["name"]?.stringValue })
            where Self.keywords.contains(name) {
                found.insert("\(method["name"]?.stringValue ?? "").\(name)")
            }
        }
        for (object, schema) in schemas {
            for name in (schema["properties"]?.objectValue ?? [:]).keys where Self.keywords.contains(name) {
                found.insert("\(object).\(name)")
            }
        }
        #expect(found == Self.kept)
    }

    /// A title means the same words everywhere, and is not the name of an object.
    @Test func wordsHaveTitles() {
        var known: [String: [JSONValue]] = [:]
        func visit(_ value: JSONValue) {
            value.arrayValue?.forEach(visit)
            guard let members = value.objectValue else { return }
            members.values.forEach(visit)
            guard let words = members["enum"]?.arrayValue else { return }
            let title = members["title"]?.stringValue ?? ""
            #expect(title.wholeMatch(of: /[A-Z][A-Za-z0-9]*/) != nil && schemas[title] == nil, "\(title): \(words)")
            #expect(known.updateValue(words, forKey: title) ?? words == words, "\(title)")
        }
        visit(document)
        #expect(known["TaskState"] != nil && known["CookieSameSite"] != nil)
    }

    @Test func integersHaveAFormat() {
        func visit(_ value: JSONValue) {
            value.arrayValue?.forEach(visit)
            value.objectValue?.values.forEach(visit)
            if value["type"] == "integer" { #expect(value["format"] == "int64") }
            #expect(value["required"]?.arrayValue?.isEmpty != true)
        }
        visit(document)
    }

    /// An object is closed if and only if a request may contain it, since then unknown members are refused.
    @Test func whatTheDaemonReadsIsClosed() throws {
        var read: [String: any WireObject.Type] = [:]
        func visit(_ type: WireType) {
            switch type {
            case .object(let object):
                if read.updateValue(object, forKey: object.wireName) == nil {
                    object.fields.forEach { visit($0.field.type) }
                }
            case .list(let element), .map(let element): visit(element)
            case .either(let types): types.forEach(visit)
            case .string, .integer, .number, .boolean, .null, .any, .time, .seconds, .byteCount, .byteRate, .taskID,
                .sequence, .userID, .choice:
                break
            }
        }
        for method in Methods.all { method.parameters.fields.forEach { visit($0.field.type) } }
        for (name, schema) in schemas {
            #expect((schema["additionalProperties"] == false) == (read[name] != nil), "\(name)")
        }
        for type in Array(read.values) + Methods.all.map(\.parameters) {
            let error = #expect(throws: TransferError.self) { try Self.decode(type, #"{"nobodyKnows": 1}"#) }
            #expect(error?.code == .unknownField, "\(type)")
        }
    }

    private static func decode(_ type: any WireObject.Type, _ text: String) throws {
        _ = try JSONCoding.decode(type, from: Array(text.utf8))
    }

    @Test func namesBeforeAreStillRead() throws {
        let old = #"{"range":{"first":1,"last":2}}"#
        let selection = try JSONCoding.decode(ControlSelection.self, from: Array(old.utf8))
        #expect(selection.range == TaskRange(TaskID(1)...TaskID(2)))
        #expect(try JSONCoding.decode(ListTasks.self, from: Array(old.utf8)).range == selection.range)
        #expect(String(decoding: JSONCoding.encode(selection), as: UTF8.self).contains("idRange"))
        #expect(!ProtocolReference.openRPC().contains("\"range\""))
    }
}
