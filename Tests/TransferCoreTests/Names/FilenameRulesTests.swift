import Testing
import TransferModel

@testable import TransferCore

struct FilenameRulesTests {
    @Test(arguments: [
        ("a.txt", "a.txt"), ("../../etc/passwd", "passwd"), ("/abs/x", "x"), ("C:\\dir\\f.txt", "f.txt"),
        ("..", "unknown"), (".", "unknown"), ("", "unknown"), ("/", "unknown"), ("...", "unknown"), (" . ", "unknown"),
        (".bashrc", "bashrc"), (".hidden.txt", "hidden.txt"), ("a\u{0}b\nc\td", "abcd"), ("trailing. . ", "trailing"),
        ("ab\u{202E}txt.exe", "abtxt.exe"), ("a\u{200B}\u{2066}b\u{FEFF}", "ab"), ("-rf", "_rf"), ("CON", "_CON"),
        ("nul.txt", "_nul.txt"), ("com1.log", "_com1.log"), ("company", "company"), ("naïve é.txt", "naïve é.txt"),
        ("日本語.txt", "日本語.txt"), ("a\u{85}b", "ab"), ("a\u{2028}b", "ab"),
        ("\u{3164}", "unknown"), ("\u{AD}.profile", "profile"), ("a\u{115F}b", "ab"),
        ("a❤\u{FE0F}", "a❤\u{FE0F}"), ("葛\u{E0100}", "葛\u{E0100}"),
    ])
    func hostileNamesAreHarmless(_ name: String, _ safe: String) {
        #expect(FilenameRules.sanitize(name) == safe)
    }

    /// Servers and `data:` URLs use other type names than the registry. They get the same extension as the registry's
    /// name.
    @Test func typesHaveAnExtensionUnderTheNamesThatAreInUse() {
        let types = [
            "image/png": "png", "image/jpg": "jpg", "image/x-icon": "ico", "audio/x-wav": "wav",
            "application/javascript": "js", "application/rss+xml": "xml", "application/vnd.api+json": "json",
            "application/ld+json": "jsonld", "application/vnd.rar": "rar", "application/octet-stream": nil, "x/y": nil,
            "x/y+z": nil, "json": nil,
        ]
        for (type, ending) in types { #expect(MediaType.fileExtension(type) == ending, "\(type)") }
        #expect(["a.js", "a.jpg", "a.mp3"].map(MediaType.guess) == ["text/javascript", "image/jpeg", "audio/mpeg"])
    }

    /// U+FEFF is removed in any case, but it prevents the fast path.
    @Test func plainNamesNeedNoChange() {
        let letters = ["c", "O", "1", ".", "-", "_", " ", "/", "\\", "é", "\u{301}"]
        var (names, newest) = ([""], [""])
        for _ in 0..<4 {
            newest = newest.flatMap { name in letters.map { name + $0 } }
            names += newest
        }
        for stem in ["con", "PRN", "aux", "nul", "com1", "LPT9", "comx", "conf", "c", "file"] {
            names += [stem, stem + ".txt", stem + ".", stem + ".a.b", "." + stem, "-" + stem, stem + "-", stem + "_"]
        }
        for length in 250...260 { names.append(String(repeating: "n", count: length)) }
        for length in 250...260 { names.append(String(repeating: "n", count: length) + ".bin") }
        #expect(names.count > 15_000)
        let wrong = names.filter { FilenameRules.sanitize($0) != FilenameRules.sanitize($0 + "\u{FEFF}") }
        #expect(wrong.isEmpty)
    }

    @Test func longNamesKeepTheirExtension() {
        let long = FilenameRules.sanitize(String(repeating: "ä", count: 400) + ".tar.gz")
        #expect(long.utf8.count <= 255)
        #expect(long.hasSuffix(".gz"))
        #expect(FilenameRules.sanitize(String(repeating: "x", count: 300)).utf8.count == 255)
        let archive = FilenameRules.sanitize(String(repeating: "x", count: 400) + ".tar.gz")
        #expect(archive == String(repeating: "x", count: 248) + ".tar.gz")
        #expect(FilenameRules.sanitize("a." + String(repeating: "y", count: 300)).utf8.count == 255)
        #expect(FilenameRules.sanitize(String(repeating: "👨‍👩‍👧", count: 100)).utf8.count <= 255)
    }

    /// NAME_MAX is 143 on eCryptfs, and FAT refuses characters.
    @Test func namesFitTheFileSystemOfTheirFolder() {
        let short = NameLimits(longest: 143), fat = NameLimits(areWindows: true)
        let long = String(repeating: "ä", count: 120) + ".tar.gz"
        let cut = FilenameRules.coded(long, nil, fitting: short)
        #expect(cut == String(repeating: "ä", count: 68) + ".tar.gz")
        #expect(FilenameRules.coded(cut, nil, fitting: short) == cut && short.fault(of: cut) == nil)
        #expect(short.fault(of: long)?.contains("143") == true)
        let odd = "a: b?*\"<c>|.txt"
        #expect(FilenameRules.coded(odd, nil) == odd)
        #expect(FilenameRules.coded(odd, nil, fitting: fat) == "a_ b____c__.txt")
        #expect([odd, "a.", "a ", "a\\b", "a\tb"].allSatisfy { fat.fault(of: $0) != nil })
        #expect(["a.txt", ".hidden", "ä b"].allSatisfy { fat.fault(of: $0) == nil })
    }

    private func suggested(_ url: String, _ fields: KeyValuePairs<String, String> = [:], asked: String? = nil) -> String
    {
        FilenameRules.suggested(head: head(200, fields, url: url), url: asked ?? url)
    }

    @Test func theOrderIsHeaderPathHostUnknown() {
        #expect(suggested("https://h.org/p.bin", ["Content-Disposition": "attachment; filename=n.bin"]) == "n.bin")
        #expect(suggested("https://h.org/a/p%20q.bin") == "p q.bin")
        #expect(suggested("https://h.org/a/") == "h.org")
        #expect(suggested("data:,x") == "unknown")
        #expect(suggested("https://h.org/x", ["Content-Disposition": "attachment; filename=\"..\""]) == "x")
        #expect(suggested("https://cdn.net/final.iso", asked: "https://h.org/start") == "final.iso")
        #expect(suggested("https://cdn.net/", asked: "https://h.org/start.iso") == "start.iso")
        #expect(suggested("https://h.org/..%2f..%2fetc%2fpasswd") == "passwd")
    }

    /// An extension from the media type would change names that are complete, such as `Makefile`.
    @Test(arguments: ["LICENSE", "SHA256SUMS", "Makefile", "vmlinuz", "report.dat"])
    func aNameThatAServerGaveTakesNoExtension(_ name: String) {
        #expect(suggested("https://h.org/a/\(name)", ["Content-Type": "text/plain"]) == name)
        let disposition =
            ["Content-Type": "text/plain", "Content-Disposition": "attachment; filename=\(name)"]
            as KeyValuePairs
        #expect(suggested("https://h.org/", disposition) == name)
    }

    @Test func aNameThatNoServerGaveTakesTheExtensionOfItsMediaType() {
        #expect(suggested("https://h.org/", ["Content-Type": "Application/PDF; x=y"]) == "h.org.pdf")
        #expect(suggested("https://h.org/", ["Content-Type": "text/html; charset=utf-8"]) == "h.org.html")
        #expect(suggested("data:text/plain,x", ["Content-Type": "text/plain"]) == "unknown.txt")
        #expect(suggested("https://h.org/x", ["Content-Type": "application/octet-stream"]) == "x")
    }
}
