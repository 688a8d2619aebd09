import Testing
import TransferCore

/// RFC 9111 section 5.2.
struct CacheControlTests {
    private func read(_ fields: String...) -> CacheControl { CacheControl(fields) }

    @Test func directivesAreReadWhateverTheirCaseAndPlace() {
        let found = read("No-Store ,no-cache", "\tMUST-REVALIDATE,, public,private", "only-if-cached,must-understand")
        #expect(found.noStore && found.noCache && found.mustRevalidate && found.mustUnderstand)
        #expect(found.isPublic && found.isPrivate && found.onlyIfCached)
        #expect(read("s-maxage=5, proxy-revalidate, x=\"no-store, max-age=1\"") == CacheControl([]))
        #expect(read("no-storex, xno-cache") == CacheControl([]))
    }

    /// Sections 1.2.2 and 4.2.1: a value that is no number means stale, a number that is too large means for ever, and
    /// the strictest of several counts.
    @Test(
        arguments: [
            ("max-age=60", 60), ("max-age=\"60\"", 60), ("max-age= 60 ", 60), ("max-age=60, max-age=5", 5),
            ("max-age", 0),
            ("max-age=", 0), ("max-age=x", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age=60;", 0),
            ("max-age=99999999999999999999", CacheControl.longest), ("max-age=\"6\\0\"", 60), ("MAX-AGE=7", 7),
            ("max-age=\"5\"x, no-cache", 5),
        ] as [(String, Int64)])
    func secondsAreDigits(_ field: String, _ seconds: Int64) { #expect(read(field).maxAge == seconds) }

    @Test func clientsSayHowStaleAndHowFresh() {
        #expect(read("max-stale").maxStale == .max)
        #expect(read("max-stale=10").maxStale == 10)
        #expect(read("max-stale=x").maxStale == 0)
        #expect(read("min-fresh=10").minFresh == 10)
        #expect(read("min-fresh=x").minFresh == CacheControl.longest)
        #expect(read("stale-if-error=10, stale-if-error=4").staleIfError == 4)
    }

    /// Directives with field names count like those without.
    @Test func namedFieldsMeanAll() {
        let found = read("no-cache=\"set-cookie, max-age=9\", private=\"x\"")
        #expect(found.noCache && found.isPrivate && found.maxAge == nil)
    }
}
