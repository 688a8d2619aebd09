import TestSupport

/// The documents that S3 reads and writes in a completion, based on its manual and not on the daemon's code.
enum S3Documents {
    struct ListedPart {
        var number: Int
        var etag: String
    }

    private static let begin = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    private static let end = "</CompleteMultipartUpload>"

    /// Returns nil if the document is not what the daemon writes. Some stores are stricter than XML.
    static func parts(_ body: [UInt8]) -> [ListedPart]? {
        var rest = Substring(decoding: body, as: UTF8.self)
        guard take(begin, &rest) else { return nil }
        var parts: [ListedPart] = []
        while take("<Part><PartNumber>", &rest) {
            guard let number = Int(text(&rest)), take("</PartNumber><ETag>", &rest) else { return nil }
            let etag = text(&rest).split(separator: "&quot;", omittingEmptySubsequences: false).joined(separator: "\"")
            guard take("</ETag></Part>", &rest) else { return nil }
            parts.append(ListedPart(number: number, etag: etag))
        }
        return rest == end ? parts : nil
    }

    private static func take(_ token: String, _ rest: inout Substring) -> Bool {
        guard rest.hasPrefix(token) else { return false }
        rest = rest.dropFirst(token.count)
        return true
    }

    private static func text(_ rest: inout Substring) -> String {
        let text = rest.prefix { $0 != "<" }
        rest = rest[text.endIndex...]
        return String(text)
    }

    // MARK: Answers

    static func error(
        _ status: Int, _ code: String, _ message: String, _ random: inout SeededGenerator
    ) -> ServerAnswer {
        document(
            status, "Error", "<Code>\(code)</Code><Message>\(message)</Message><RequestId>1</RequestId>", &random)
    }

    static func result(_ random: inout SeededGenerator) -> ServerAnswer {
        document(200, "CompleteMultipartUploadResult", "<Key>k</Key><ETag>&quot;1-2&quot;</ETag>", &random)
    }

    /// Blanks keep the connection alive while the store works.
    private static func document(
        _ status: Int, _ root: String, _ content: String, _ random: inout SeededGenerator
    ) -> ServerAnswer {
        let blanks = String(repeating: " \n", count: random.below(4))
        let declaration = ["", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"][random.below(2)]
        let parts = random.chance(500) ? [blanks, declaration] : [declaration, blanks]
        return ServerAnswer(
            status, [("Content-Type", "application/xml")],
            body: Array("\(parts.joined())<\(root)>\(content)</\(root)>".utf8))
    }
}
