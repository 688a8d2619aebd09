import Foundation

/// The sources of this checkout, read as text.
enum Checkout {
    static let root: URL = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder
    }()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    /// Returns the paths of the files below `folder` whose names end in `suffix`, relative to the root and without
    /// build products.
    static func files(below folder: String, suffix: String = "") -> [String] {
        // In a partial checkout folders may be links.
        let base = root.appendingPathComponent(folder).resolvingSymlinksInPath()
        let paths = FileManager.default.subpaths(atPath: base.path) ?? []
        return paths.filter { path in
            let isHidden = path.split(separator: "/").contains { $0.hasPrefix(".") }
            var isFolder: ObjCBool = false
            let exists = FileManager.default.fileExists(
                atPath: base.appendingPathComponent(path).path, isDirectory: &isFolder)
            return exists && !isFolder.boolValue && !isHidden && path.hasSuffix(suffix)
        }
        .map { "\(folder)/\($0)" }.sorted()
    }
}

/// Fast searches. Without optimization, other searches of all sources take minutes.
extension StringProtocol {
    /// Compares bytes.
    func contains(_ word: String) -> Bool { withCString { text in word.withCString { strstr(text, $0) != nil } } }
}

extension String {
    /// The lines with at least one of the words, which every match of a slower search has.
    func lines(with words: String...) -> String {
        guard words.contains(where: contains) else { return "" }
        return utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
            .filter { line in words.contains { line.contains($0) } }.joined(separator: "\n")
    }
}
