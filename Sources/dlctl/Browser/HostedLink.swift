import FoundationEssentials
import TransferModel

/// What an extension would have downloaded, and with which request.
struct HostedLink: Hashable {
    var url: String
    var fields: [HeaderField] = []
    /// In the form of the field Cookie.
    var cookies = ""
    var filename: String?
    /// A form that the browser would have sent.
    var form: String?

    /// An element of `url_links`.
    init?(persepolis link: JSONValue) {
        guard let url = link["url"]?.stringValue else { return nil }
        self.url = url
        fields = Self.fields(link["header"])
        for (name, member) in [("User-Agent", "useragent"), ("Referer", "referrer")] {
            if let value = link[member]?.stringValue, !value.isEmpty,
                !fields.contains(where: { $0.isNamed(name.lowercased()) })
            {
                fields.append(HeaderField(name, value))
            }
        }
        // The extension sends a list if it has not finished joining them.
        cookies =
            link["cookies"]?.stringValue ?? link["cookies"]?.arrayValue?.compactMap(\.stringValue).joined(
                separator: "; ")
            ?? ""
        filename = link["filename"]?.stringValue
        form = link["postdata"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The `params` of `create`: base64 of a request.
    init?(gopeed parameters: JSONValue?) {
        guard let bytes = parameters?.stringValue.flatMap({ Base64.decode($0) }),
            let text = try? JSONCoding.decode(JSONValue.self, from: bytes, lenient: true),
            let request = text["req"], let url = request["url"]?.stringValue
        else { return nil }
        self.url = url
        fields = Self.fields(request["extra"]?["header"])
        filename = (text["opt"] ?? text["opts"])?["name"]?.stringValue
    }

    /// An object, a list of `Name: value`, or such lines.
    private static func fields(_ value: JSONValue?) -> [HeaderField] {
        if let members = value?.objectValue {
            return members.sorted { $0.key < $1.key }.compactMap { name, value in
                value.stringValue.map { HeaderField(name, $0) }
            }
        }
        let lines =
            value?.arrayValue?.compactMap(\.stringValue)
            ?? value?.stringValue.map { $0.split(whereSeparator: \.isNewline).map(String.init) }
        return (lines ?? []).compactMap { HeaderArgument(argument: $0)?.field }
    }

    /// Nil if dld does not take downloads of that scheme from browsers.
    var spec: TaskSpec? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard ["http", "https", "ftp"].contains(scheme), url.dropFirst(scheme.count).hasPrefix("://") else {
            return nil
        }
        var spec = TaskSpec()
        spec.url = url
        if let name = filename.flatMap(Self.lastPart) { spec.destination = Destination(filename: name) }
        guard scheme != "ftp" else { return spec }
        let kept = fields.filter(Self.isKept)
        if !kept.isEmpty { spec.headers = kept }
        let ofFields = fields.filter { $0.isNamed("cookie") }.map(\.value)
        let all = ([cookies] + ofFields).flatMap { cookies(in: $0, isSecure: scheme == "https") }
        if !all.isEmpty { spec.cookies = Array(all.prefix(Bounds.cookiesOfTask)) }
        if let form {
            spec.method = "POST"
            var body = RequestBody()
            body.text = form
            spec.body = body
            if !kept.contains(where: { $0.isNamed("content-type") }) {
                spec.headers = kept + [HeaderField("Content-Type", "application/x-www-form-urlencoded")]
            }
        }
        return spec
    }

    /// Of the host alone: the browser does not say for which others they are.
    private func cookies(in text: String, isSecure: Bool) -> [Cookie] {
        let host = URLText.host(url)
        return text.split(separator: ";").compactMap { part in
            let pair = Self.trimmed(part)
            guard !pair.isEmpty else { return nil }
            let mark = pair.firstIndex(of: "=")
            return Cookie(
                name: mark.map { Self.trimmed(pair[..<$0]) } ?? "",
                value: mark.map { Self.trimmed(pair[pair.index(after: $0)...]) } ?? pair, domain: host,
                secure: isSecure)
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    /// Fields of one connection, of the browser's own ranges and codings, and of its cache; and what is no field.
    private static let dropped: Set<String> = [
        "host", "connection", "range", "accept-encoding", "te", "trailer", "transfer-encoding", "content-length",
        "keep-alive", "upgrade", "expect", "cookie", "http2-settings", "priority",
    ]

    private static func isKept(_ field: HeaderField) -> Bool {
        let name = field.name.lowercased()
        return HeaderField.isToken(name) && !dropped.contains(name) && !name.hasPrefix("if-")
            && !name.hasPrefix("proxy-") && !field.value.utf8.contains { $0 < 32 && $0 != 9 || $0 == 127 }
    }

    /// Nil if there is none that could be the name of a file.
    private static func lastPart(_ name: String) -> String? {
        guard let part = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init),
            part != ".", part != "..", part.utf8.count <= Bounds.fileName, !part.utf8.contains(0)
        else { return nil }
        return part
    }
}
