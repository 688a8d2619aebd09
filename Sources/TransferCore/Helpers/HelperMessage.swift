import TransferModel

/// A violation of the protocol by a helper. The text describes it for the log and the task's error.
package struct HelperViolation: Error, Hashable, Sendable {
    package var reason: String
    /// The request that the line names; nil if it names none.
    package var id: Int64?

    package init(_ reason: String, id: Int64? = nil) {
        self.reason = reason
        self.id = id
    }
}

/// The first line of a helper, which describes the helper itself.
package struct HelperHello: Hashable, Sendable {
    /// It can begin after the first byte.
    package var resumes: Bool
    /// It takes requests with a body.
    package var uploads: Bool
    /// One process serves many requests and sends their bytes as `data`. If false, a process serves one request, and
    /// its descriptor 3 is the part file.
    package var servesMany: Bool
}

/// The header of a helper's answer.
package struct HelperResponse: Hashable, Sendable {
    /// The offset of its first byte; 0 if it starts over.
    package var offset: Int64
    package var status: Int?
    package var headers: [HeaderField] = []
    /// The length of the whole resource in bytes; nil if unknown.
    package var length: Int64?
    /// Identifies the version of the resource.
    package var validator: String?
    package var suggestedFilename: String?
}

/// One line of a helper. Reading it is a pure function, so that every line can be tested without a process.
package enum HelperMessage: Hashable, Sendable {
    case hello(HelperHello)
    case request(Int64, Content)

    /// The content of a line about one request.
    package enum Content: Hashable, Sendable {
        case response(HelperResponse)
        case redirect(String)
        /// - Parameters: realm and method of the protection space.
        case challenge(realm: String?, AuthenticationMethod)
        case data([UInt8])
        /// All bytes before this offset are in descriptor 3.
        case wrote(Int64)
        case finished
        case failed(code: String, message: String, isRetryable: Bool)
    }

    /// The length of the longest line in bytes, without its line feed.
    package static let longestLine = 16 << 20
    package static let version: Int64 = 1
    /// The most header fields of one answer, and the most bytes of their names and values.
    private static let mostHeaders = 1000
    private static let headerBytes = 300 << 10
    private static let longestText = 4096

    /// - Parameter line: without its line feed.
    /// - Throws: what is wrong with it.
    package init(_ line: [UInt8]) throws(HelperViolation) {
        guard let text = String(validating: line, as: UTF8.self) else {
            throw HelperViolation("a line that is not UTF-8")
        }
        guard let value = try? JSONCoding.decode(JSONValue.self, from: Array(text.utf8), lenient: true),
            let members = value.objectValue
        else { throw HelperViolation("a line that is not a JSON object") }
        guard let type = members["type"]?.stringValue else { throw HelperViolation("a line without a type") }
        let fields = Fields(type: type, members: members)
        if type == "hello" {
            self = .hello(try fields.hello())
        } else {
            self = .request(try fields.id(), try fields.content())
        }
    }

    /// The members of one line.
    private struct Fields {
        let type: String
        let members: [String: JSONValue]

        private var known: Int64? { members["id"]?.integerValue }

        private func wrong(_ name: String, _ what: String) -> HelperViolation {
            HelperViolation("\(type) with \(name) that is not \(what)", id: known)
        }

        /// nil if the member is absent or null.
        private func given(_ name: String) -> JSONValue? { members[name] == .null ? nil : members[name] }

        private func flag(_ name: String, _ standard: Bool) throws(HelperViolation) -> Bool {
            guard let value = given(name) else { return standard }
            guard let flag = value.boolValue else { throw wrong(name, "true or false") }
            return flag
        }

        private func text(_ name: String) throws(HelperViolation) -> String? {
            guard let value = given(name) else { return nil }
            guard let text = value.stringValue, text.utf8.count <= HelperMessage.longestText, !text.utf8.contains(0)
            else {
                throw wrong(name, "a text of at most \(HelperMessage.longestText) bytes")
            }
            return text
        }

        /// A text for people. Only its beginning is kept.
        private func words(_ name: String) throws(HelperViolation) -> String {
            guard let value = given(name) else { return "" }
            guard let words = value.stringValue else { throw wrong(name, "a text") }
            return String(words.filter { $0 != "\0" }.prefix(HelperMessage.longestText / 4))
        }

        private func count(_ name: String) throws(HelperViolation) -> Int64? {
            guard let value = given(name) else { return nil }
            guard let count = value.integerValue, count >= 0 else { throw wrong(name, "a number of bytes") }
            return count
        }

        private func required<T>(_ name: String, _ value: T?) throws(HelperViolation) -> T {
            guard let value else { throw HelperViolation("\(type) without \(name)", id: known) }
            return value
        }

        func hello() throws(HelperViolation) -> HelperHello {
            guard members["version"]?.integerValue == HelperMessage.version else {
                throw HelperViolation("hello of another version than \(HelperMessage.version)")
            }
            return HelperHello(
                resumes: try flag("resume", false), uploads: try flag("upload", false),
                servesMany: try flag("many", false))
        }

        func id() throws(HelperViolation) -> Int64 { try required("id", known) }

        func content() throws(HelperViolation) -> Content {
            switch type {
            case "response": return .response(try response())
            case "redirect": return .redirect(try required("url", try redirect()))
            case "challenge": return try challenge()
            case "data": return .data(try data())
            case "wrote": return .wrote(try required("offset", try count("offset")))
            case "finished": return .finished
            case "failed":
                return .failed(
                    code: try words("code"), message: try words("message"),
                    isRetryable: try flag("retryable", false))
            default: throw HelperViolation("a line of the unknown type \"\(type.prefix(40))\"", id: known)
            }
        }

        private func redirect() throws(HelperViolation) -> String? {
            guard let url = given("url")?.stringValue else { return nil }
            guard url.utf8.count <= Bounds.url else { throw wrong("url", "at most \(Bounds.url) bytes") }
            return url
        }

        private func data() throws(HelperViolation) -> [UInt8] {
            guard let bytes = given("base64")?.stringValue.flatMap({ Base64.decode($0) }) else {
                throw wrong("base64", "base64 (RFC 4648)")
            }
            return bytes
        }

        private func response() throws(HelperViolation) -> HelperResponse {
            let status = try count("status")
            if let status, !(200...599).contains(status) { throw wrong("status", "from 200 to 599") }
            return HelperResponse(
                offset: try required("offset", try count("offset")), status: status.map(Int.init),
                headers: try headers(),
                length: try count("length"), validator: try text("validator"),
                suggestedFilename: try text("suggestedFilename"))
        }

        /// Pairs [name, value] in order, as everywhere in dld's protocol, or an object.
        private func headers() throws(HelperViolation) -> [HeaderField] {
            var fields: [HeaderField] = []
            switch given("headers") {
            case nil: return []
            case .object(let object)?:
                for (name, value) in object.sorted(by: { $0.key < $1.key }) {
                    guard let value = value.stringValue else { throw wrong("headers", "of texts") }
                    fields.append(HeaderField(name, value))
                }
            case .array(let pairs)?:
                for pair in pairs {
                    guard let pair = pair.arrayValue, pair.count == 2, let name = pair[0].stringValue,
                        let value = pair[1].stringValue
                    else { throw wrong("headers", "of [name, value]") }
                    fields.append(HeaderField(name, value))
                }
            default: throw wrong("headers", "of [name, value]")
            }
            let bytes = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
            guard fields.count <= HelperMessage.mostHeaders, bytes <= HelperMessage.headerBytes,
                (try? RequestHeaders.validate(fields)) != nil
            else {
                throw wrong("headers", "fit for a header (RFC 9110 section 5)")
            }
            return fields
        }

        /// The members are those of a question of kind `challenge`.
        private func challenge() throws(HelperViolation) -> Content {
            guard let space = (given("protectionSpace") ?? .object(members)).objectValue else {
                throw wrong("protectionSpace", "an object")
            }
            let (realm, name) = (space["realm"] ?? .null, space["method"] ?? .null)
            guard realm == .null || realm.stringValue != nil else { throw wrong("realm", "a text") }
            let method: AuthenticationMethod? =
                name == .null ? .httpBasic : name.stringValue.flatMap(AuthenticationMethod.init(rawValue:))
            guard let method, [.httpBasic, .httpDigest].contains(method) else {
                throw wrong("method", "httpBasic or httpDigest")
            }
            return .challenge(realm: realm.stringValue.map { String($0.prefix(HelperMessage.longestText)) }, method)
        }
    }
}
