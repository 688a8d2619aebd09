import Testing

@testable import TransferCore

struct ContentDispositionTests {
    @Test(arguments: [
        ("attachment; filename=example.html", "example.html"),
        ("INLINE; FILENAME= \"an example.html\"", "an example.html"),
        ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=utf-8''%e2%82%ac; filename=\"EURO\"", "€"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
        // A combining mark after the quotes.
        ("attachment; filename*=UTF-8''\u{301}accent.txt", "\u{301}accent.txt"),
        ("attachment; filename=\"a \\\"quoted\\\" \\\\ name\"", "a \"quoted\" \\ name"),
        ("attachment; filename=\"semi;colon.txt\"", "semi;colon.txt"),
        ("attachment; name=\"x; filename=evil\"; filename=good", "good"),
        ("attachment; filename=\"naïve.txt\"", "naïve.txt"),
        ("attachment; filename=\"=?UTF-8?B?w6Rib2YudHh0?=\"", "äbof.txt"),
        ("attachment; filename=\"=?iso-8859-1?Q?=E4_b.txt?=\"", "ä b.txt"),
        ("attachment; filename=\"=?utf-8?Q?a=2E?= =?utf-8?Q?txt?=\"", "a.txt"),
        ("attachment; filename*0=\"long \"; filename*1=\"name.txt\"", "long name.txt"),
        ("attachment; filename*0*=UTF-8''%e2%82; filename*1*=%ac.txt", "€.txt"),
        ("attachment;filename=no space", "no space"),
        ("attachment; filename=\"unterminated", "unterminated"),
        ("attachment; filename=a; filename=b", "a"),
        ("; filename=x", "x"),
        ("attachment; filename*=bogus; filename=plain", "plain"),
        ("attachment; filename*=x-unknown''%e2%82%ac", "€"),
        ("attachment; filename=\"a%20b\"", "a%20b"),
        ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
    ])
    func readsTheName(_ header: String, _ name: String) {
        #expect(ContentDisposition.filename(header) == name)
    }

    @Test(arguments: [
        "", "attachment", "inline; name=x", "attachment; filename=", "attachment; filename=\"\"", "filename",
    ])
    func nothingToRead(_ header: String) {
        #expect(ContentDisposition.filename(header) == nil)
    }

    @Test func junkNeverTraps() {
        var generator = SeededGenerator(state: 5)
        let pieces = [
            "filename", "*", "=", "\"", "\\", ";", "'", "%", "=?", "?=", "UTF-8", "0", " ", "é", "\u{0}", "Q?", "B?",
        ]
        for _ in 0..<5000 {
            let count = Int.random(in: 0..<14, using: &generator)
            let text = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            if let name = ContentDisposition.filename("attachment;" + text) {
                let safe = FilenameRules.sanitize(name)
                #expect(!safe.isEmpty && !safe.contains("/") && !safe.hasPrefix(".") && safe.utf8.count <= 255)
            }
        }
    }
}
