import TestSupport
import TransferModel

/// The fields that a client sends with its file in a form, and that must be in it when it arrives (RFC 7578 section
/// 4.2).
struct SentForm {
    private let fields: [String: String]
    private let fileField: String?
    private let fileName: String?
    private let contentType: String?
    /// A POST may act twice if it is sent twice. A PUT may not.
    let method: String

    /// Texts that are hard to encode: quotes, line breaks, something that looks like a boundary, and an empty text.
    private static let texts = [
        "", "plain", "say \"so\"", "two\r\nlines", "\r\n--dld-", "grün; name=\"x\"", "back\\slash", "%22", "--",
    ]
    private static let fileNames = ["report.pdf", "a \"b\".txt", "größe; x=y.tar.gz", "%22.bin", "noext"]

    private static func text(_ random: inout SeededGenerator) -> String { texts[random.below(texts.count)] }

    init(_ random: inout SeededGenerator) {
        var fields: [String: String] = [:]
        for number in 0..<random.below(4) {
            fields["\(number)" + Self.text(&random)] = Self.text(&random)
        }
        self.fields = fields
        fileField = random.chance(500) ? "up\"load" : nil
        fileName = random.chance(500) ? Self.fileNames[random.below(Self.fileNames.count)] : nil
        contentType = random.chance(300) ? "image/x-thing; a=\"b\"" : nil
        method = random.chance(800) ? "POST" : "PUT"
    }

    func fill(_ spec: inout TaskSpec) {
        spec.formFields = fields
        spec.formField = fileField
        spec.fileName = fileName
        spec.contentType = contentType
        if method != "POST" { spec.method = method }
    }

    /// Returns the content of the file.
    /// - Throws: `FormReader.Malformed`, also if any other field differs from what the client sent.
    func file(in reader: FormReader) throws(FormReader.Malformed) -> ArraySlice<UInt8> {
        let parts = try reader.parts()
        guard let file = parts.last, parts.count == fields.count + 1 else {
            throw FormReader.Malformed("it has \(parts.count) parts")
        }
        var missing = Set(fields.keys)
        for part in parts.dropLast() {
            let name = missing.first { part.headers["content-disposition"] == "form-data; name=\"\(quoted($0))\"" }
            guard let name, let value = fields[name], part.content.elementsEqual(value.utf8) else {
                throw FormReader.Malformed("a field is \(part.headers), \(part.content.count) bytes")
            }
            missing.remove(name)
        }
        let begin = "form-data; name=\"\(quoted(fileField ?? "file"))\"; filename=\""
        let end = fileName.map { quoted($0) + "\"" } ?? "\""
        guard let disposition = file.headers["content-disposition"], disposition.hasPrefix(begin),
            disposition.hasSuffix(end), let type = file.headers["content-type"], contentType ?? type == type
        else { throw FormReader.Malformed("its file is \(file.headers)") }
        return file.content
    }

    /// Quotes a name as browsers do.
    private func quoted(_ text: String) -> String {
        text.unicodeScalars.map { ["\"": "%22", "\r": "%0D", "\n": "%0A"][$0] ?? String($0) }.joined()
    }
}
