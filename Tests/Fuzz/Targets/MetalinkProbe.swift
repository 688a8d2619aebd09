import Metalink
import TransferCore
import TransferModel

/// Metalink documents: names stay in their folder, digests have the right length, and the pieces make up the file.
struct MetalinkProbe: Probe {
    var read: @Sendable ([UInt8]) throws -> Metalink

    static let target = FuzzTarget(
        "metalink",
        words: [
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">", "</metalink>", "<file name=\"", "</file>", "<size>",
            "</size>", "<hash type=\"md5\">", "</hash>", "<pieces length=\"", "\" type=\"sha-1\">", "</pieces>",
            "<url priority=\"", "</url>", "https://m.example/f", "<!DOCTYPE x [<!ENTITY a \"b\">]>", "&lt;", "&#x2f;",
            "&#47;",
            "<![CDATA[", "]]>", "<!--", "-->", "../", "/", "\u{301}", "-9223372036854775808", "9223372036854775807",
            "preference=\"", "<files>", "<resources>", "<verification>", "xmlns=\"http://www.metalinker.org/\"",
        ],
        MetalinkProbe { try Metalink($0) },
        // A name may begin with a slash.
        planted: MetalinkProbe { bytes in
            var document = try Metalink(bytes)
            document.files[0].name = "/" + document.files[0].name
            return document
        })

    func check(_ input: [UInt8]) throws {
        let document: Metalink
        do {
            document = try read(input)
        } catch let error as MetalinkError {
            return try hold(!error.description.isEmpty, "no sentence")
        }
        try hold(!document.files.isEmpty, "a document without files")
        for file in document.files { try check(file) }
    }

    private func check(_ file: Metalink.File) throws {
        let parts = file.name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for part in parts {
            let text = String(decoding: Array(part), as: UTF8.self)
            try hold(!part.isEmpty && text != "." && text != "..", "\(shown(file.name)) leaves its folder")
            try hold(
                part.count <= 255 && part.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(shown(file.name)) is no name")
        }
        try hold((file.size ?? .zero) >= .zero, "a negative size")
        try hold(!file.urls.isEmpty, "no URL")
        for url in file.urls {
            let scheme = url.prefix { $0 != ":" }.lowercased()
            try hold(["http", "https", "ftp", "ftps", "sftp"].contains(scheme), "\(shown(url)) cannot be fetched")
        }
        for checksum in file.checksums {
            try hold(checksum.value.utf8.count == checksum.algorithm.hexLength, "a digest of another length")
        }
        guard let pieces = file.pieces else { return }
        try hold(pieces.length > .zero && !pieces.values.isEmpty, "pieces without a length")
        if let size = file.size {
            try hold((try? PieceMap(pieces, of: size)) != nil, "pieces that do not make up \(size) bytes")
        }
    }
}
