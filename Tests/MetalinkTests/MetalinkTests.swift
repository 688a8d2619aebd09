import Testing
import TransferModel

@testable import Metalink

struct MetalinkTests {
    private static let sha256 = String(repeating: "ab", count: 32)
    private static let sha1 = String(repeating: "cd", count: 20)

    private func read(_ text: String) throws(MetalinkError) -> Metalink { try Metalink(Array(text.utf8)) }

    private func document(_ file: String) -> String {
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"a.iso\">\(file)</file></metalink>"
    }

    private func problem(_ text: String) -> String? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func version4() throws {
        let link = try read(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink" xmlns:o="urn:other">
              <published>2026-01-01T00:00:00Z</published>
              <file name="dir/a.iso">
                <size>600000</size>
                <hash type="sha-1">\(Self.sha1)</hash>
                <hash type="sha-256"> \(Self.sha256.uppercased()) </hash>
                <hash type="whirlpool">00</hash>
                <pieces length="262144" type="sha-1"><hash>\(Self.sha1)</hash><hash>\(Self.sha1)</hash><hash>\(Self.sha1)</hash></pieces>
                <url location="de" priority="2">https://two.example/a.iso</url>
                <url>https://last.example/a.iso</url>
                <url priority="1">https://one.example/a.iso</url>
                <o:url priority="1">https://foreign.example/a.iso</o:url>
                <metaurl mediatype="torrent">https://one.example/a.torrent</metaurl>
              </file>
              <file name="b"><url>ftp://x/b</url></file>
            </metalink>
            """)
        #expect(link.files.count == 2)
        let file = link.files[0]
        #expect(file.name == "dir/a.iso")
        #expect(file.size == ByteCount(600_000))
        #expect(file.checksums.map(\.algorithm) == [.sha256, .sha1])
        #expect(file.checksums[0].value == Self.sha256)
        #expect(file.pieces?.length == ByteCount(262_144))
        #expect(file.pieces?.values.count == 3)
        #expect(
            file.urls == ["https://one.example/a.iso", "https://two.example/a.iso", "https://last.example/a.iso"])
        #expect(link.files[1].checksums.isEmpty)
    }

    @Test func version3() throws {
        let link = try read(
            """
            <metalink version="3.0" xmlns="http://www.metalinker.org/"><files><file name="r.xml"><size>50000</size>
              <verification><hash type="sha256">\(Self.sha256)</hash>
                <pieces length="30000" type="sha1"><hash piece="0">\(Self.sha1)</hash><hash piece="1">\(Self.sha1)</hash></pieces>
              </verification>
              <resources maxconnections="1">
                <url protocol="rsync" type="rsync" preference="100">rsync://a/r.xml</url>
                <url protocol="https" preference="90">https://low/r.xml</url>
                <url protocol="http" preference="99">http://high/r.xml</url>
                <url type="bittorrent" preference="100">http://high/r.xml.torrent</url>
              </resources></file></files></metalink>
            """)
        #expect(link.files[0].urls == ["http://high/r.xml", "https://low/r.xml"])
        #expect(link.files[0].checksums.map(\.algorithm) == [.sha256])
        #expect(link.files[0].pieces?.algorithm == .sha1)
    }

    @Test(arguments: ["/etc/passwd", "../a", "a/../b", "a//b", "a/", ".", "", "a\\b", "a/./b", "x&#9;y", "x\u{7F}y"])
    func namesStayInTheirFolder(_ name: String) {
        let text =
            "<metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='\(name)'><url>http://x/</url></file></metalink>"
        #expect(problem(text)?.contains("name") == true, "\(problem(text) ?? "accepted")")
    }

    /// Nobody expects a document to write `.bashrc`, or a name that reads as another one.
    @Test(arguments: [
        (".bashrc", "hidden"), (".ssh/authorized_keys", "hidden"), ("a/.b/c", "hidden"), ("x&#9;y", "nobody sees"),
        ("a\u{202E}txt.exe", "nobody sees"), ("a\u{AD}b", "nobody sees"), ("\u{3164}", "nobody sees"),
        (String(repeating: "n", count: 256), "255 bytes"), ("../a", "stay in its folder"),
        ("a/..", "stay in its folder"),
    ])
    func namesAreSeenAsTheyAre(_ name: String, _ part: String) {
        let text =
            "<metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='\(name)'><url>http://x/</url></file></metalink>"
        #expect(problem(text)?.contains(part) == true, "\(problem(text) ?? "accepted")")
    }

    @Test(arguments: ["a.b", "a/b..c", "نام\u{200C}ها", "❤\u{FE0F}", "a b", "葛\u{E0100}"])
    func otherNamesAreKept(_ name: String) throws {
        let text =
            "<metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='\(name)'><url>http://x/</url></file></metalink>"
        #expect(try read(text).files.map(\.name) == [name])
    }

    /// A file that has digests is never fetched without any.
    @Test func piecesThatAreTooSmallNeedAnotherDigest() throws {
        let pieces =
            "<size>9000</size><pieces type='sha-1' length='8192'><hash>\(Self.sha1)</hash><hash>\(Self.sha1)</hash></pieces><url>http://x/</url>"
        #expect(problem(document(pieces))?.contains("2 pieces of 8192 bytes cannot be used") == true)
        let file = try read(document("<hash type='sha-256'>\(Self.sha256)</hash>" + pieces)).files[0]
        #expect(file.pieces == nil && file.checksums.count == 1)
        // An empty file has no piece.
        let empty = try read(document("<size>0</size><pieces type='sha-1' length='8192'/><url>http://x/</url>"))
        #expect(empty.files[0].pieces == nil)
    }

    @Test(arguments: [
        ("", "no URL"), ("<url> </url>", "no URL"), ("<size>x</size><url>http://x/</url>", "size"),
        ("<size>-1</size><url>http://x/</url>", "size"), ("<hash type='sha-256'>ab</hash><url>http://x/</url>", "64"),
        ("<hash type='md5'>zz000000000000000000000000000000</hash><url>http://x/</url>", "32"),
        ("<pieces type='sha-1'/><url>http://x/</url>", "length"),
        ("<size>9</size><pieces type='sha-1' length='4'><hash>\(sha1)</hash></pieces><url>http://x/</url>", "add up"),
    ])
    func whatCannotProtectIsRefused(_ file: String, _ part: String) {
        #expect(problem(document(file))?.contains(part) == true, "\(problem(document(file)) ?? "accepted")")
    }

    @Test func otherDocumentsAreRefused() {
        #expect(problem("<html/>") == "<html> is not a Metalink document")
        #expect(problem("<metalink xmlns='urn:x'/>") == "<metalink> is not a Metalink document")
        #expect(problem("<metalink xmlns='urn:ietf:params:xml:ns:metalink'/>") == "it names no file")
        #expect(problem("<a>\n</b>")?.hasPrefix("line 2") == true)
    }
}
