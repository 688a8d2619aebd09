import DaemonKit
import FileKit
import TransferCore

/// File names that servers choose: whatever Content-Disposition, the URL and the media type say, the result is one
/// visible name that stays in its folder, is short enough, and still has these properties after a number is added.
/// Input: the field's value, then a line break and the last component of the URL's path.
struct ContentDispositionProbe: Probe {
    var suggested: @Sendable (ResponseHead, String) -> String

    static let target = FuzzTarget(
        "content-disposition",
        words: [
            "attachment; filename=", "filename*=UTF-8''", "filename*0*=", "filename*1=", "%2F", "%2E%2E%2F", "\"", "\\",
            "=?utf-8?B?", "?=", "%00", "%E2%80%AE", "%E2%80%8D", "%CC%81", "\u{301}", "/", "..", "CON.txt", "%0A", "%",
            ".tar.gz", String(repeating: "n", count: 120), String(repeating: "%CC%81", count: 90),
        ],
        ContentDispositionProbe { FilenameRules.suggested(head: $0, url: $1) },
        // Separators are looked for only before the name is decoded.
        planted: ContentDispositionProbe { head, url in
            let given = head.values("content-disposition").first.flatMap { ContentDisposition.filename($0) }
            return given.flatMap { $0.contains("/") ? $0 : nil } ?? FilenameRules.suggested(head: head, url: url)
        })

    func check(_ input: [UInt8]) throws {
        let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false).map { Array($0) }
        let field = fieldValue(parts.first ?? [])
        let url = "https://example.org/" + (parts.count > 1 ? fieldValue(parts[1]) : "")
        for type in [nil, "text/html; charset=utf-8"] {
            var head = ResponseHead(url: url, status: 200)
            head.headers = [.init("Content-Disposition", field)] + (type.map { [.init("Content-Type", $0)] } ?? [])
            let name = suggested(head, url)
            try check(name)
            try hold(
                FilenameRules.sanitize(name) == name, "\(shown(name)) becomes \(shown(FilenameRules.sanitize(name)))")
            for number in [1, 9999] { try check(ConflictName.numbered(name, number)) }
            let part = PartName.make(task: .init(42), store: "store", wanted: name)
            try hold(PartName.isPartName(part) && part.utf8.count <= 143, "\(shown(part)) is no name of a part")
        }
    }

    private func check(_ name: String) throws {
        let bytes = Array(name.utf8)
        try hold(!bytes.isEmpty && bytes.count <= 255, "\(bytes.count) bytes: \(shown(name))")
        try hold(!bytes.contains(UInt8(ascii: "/")) && !bytes.contains(UInt8(ascii: "\\")), "a path: \(shown(name))")
        try hold(bytes.first != UInt8(ascii: "."), "hidden, or no name at all: \(shown(name))")
        try hold(bytes.first != UInt8(ascii: "-"), "an option: \(shown(name))")
        for scalar in name.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator:
                throw Violation(description: "a control character: \(shown(name))")
            case .format where scalar.properties.isBidiControl:
                throw Violation(description: "the direction of text is changed: \(shown(name))")
            default: break
            }
        }
    }
}
