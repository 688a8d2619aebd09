import Testing
import TransferModel

@testable import TransferCore

/// RFC 9111 sections 4.2 and 4.3: age, freshness, validation.
struct StoredResponseTests {
    /// 2026-01-01T00:00:00Z
    private static let base: Int64 = 1_767_225_600

    private func field(_ name: String, _ value: String) -> HeaderField { HeaderField(name, value) }
    private static func date(_ offset: Int64) -> String { HTTPDate.format(base + offset) }

    private func response(
        _ headers: [HeaderField], status: Int = 200, asked: Int64 = 0, answered: Int64 = 0
    ) -> StoredResponse {
        StoredResponse(
            status: status, headers: headers, requestTime: Self.base + asked, responseTime: Self.base + answered,
            selection: CacheSelection(text: "accept-encoding"))
    }

    /// An independent reading of section 4.2.3 in whole seconds: the larger of two estimates of the age at arrival,
    /// plus the time since then.
    private func expectedAge(dateOffset: Int64, age: Int64, asked: Int64, answered: Int64, now: Int64) -> Int64 {
        let byClock = answered > dateOffset ? answered - dateOffset : 0
        let byCaches = age + (answered - asked)
        return (byClock > byCaches ? byClock : byCaches) + (now - answered)
    }

    @Test func ageIsThatOfTheFormula() {
        for date in [-100, -3, 0, 50] as [Int64] {
            for age in [0, 7, 90] as [Int64] {
                for delay in [0, 4] as [Int64] {
                    for passed in [0, 1, 1000] as [Int64] {
                        let stored = response(
                            [field("Date", Self.date(date)), field("Age", "\(age)")], asked: 0, answered: delay)
                        let expected = expectedAge(
                            dateOffset: date, age: age, asked: 0, answered: delay, now: delay + passed)
                        #expect(stored.age(at: Self.base + delay + passed) == expected)
                    }
                }
            }
        }
    }

    /// Section 5.1: the first item of a list counts. A value that is no number means no age.
    @Test(arguments: [("5, 900", 5), ("x", 0), ("-5", 0), ("1.5", 0), ("", 0)] as [(String, Int64)])
    func oddAges(_ value: String, _ age: Int64) {
        #expect(response([field("Age", value)]).age(at: Self.base) == age)
    }

    @Test(
        arguments: [
            // max-age comes before Expires, and Expires before an estimate.
            ([("Cache-Control", "max-age=60"), ("Expires", date(900))], 200, 60),
            ([("Cache-Control", "max-age=oops"), ("Expires", date(900))], 200, 0),
            ([("Expires", date(900)), ("Date", date(0))], 200, 900),
            ([("Expires", date(900)), ("Date", date(100))], 200, 800),
            ([("Expires", date(900))], 200, 900),
            ([("Expires", date(-900))], 200, 0), ([("Expires", "0")], 200, 0), ([("Expires", "-1")], 200, 0),
            ([("Expires", date(900)), ("Expires", date(9))], 200, 0),
            ([("Expires", date(900).replacing("GMT", with: "UTC"))], 200, 0),
            ([("Expires", date(900).replacing(",", with: ""))], 200, 0),
            // The lifetime for shared caches does not apply to this cache.
            ([("Cache-Control", "s-maxage=60")], 200, 0),
            // A tenth of the time since the last change, but at most one day.
            ([("Last-Modified", date(-1000)), ("Date", date(0))], 200, 100),
            ([("Last-Modified", date(-1000))], 404, 100),
            ([("Last-Modified", date(-1000))], 500, 0), ([("Last-Modified", date(-1000))], 201, 0),
            ([("Last-Modified", date(-1000)), ("Cache-Control", "public")], 201, 100),
            ([("Last-Modified", date(-100_000_000))], 200, 86_400),
            ([("Last-Modified", date(1000))], 200, 0), ([("Last-Modified", "yesterday")], 200, 0),
            ([], 200, 0),
        ] as [([(String, String)], Int, Int64)])
    func lifetime(_ headers: [(String, String)], _ status: Int, _ seconds: Int64) {
        #expect(response(headers.map { field($0.0, $0.1) }, status: status).lifetime == seconds)
    }

    /// Section 4.2: an answer is fresh while its age is below its lifetime. No answer is fresh if the clock went back.
    @Test func freshnessEnds() {
        let stored = response([field("Cache-Control", "max-age=60"), field("Age", "10")])
        #expect(stored.isFresh(at: Self.base + 49))
        #expect(!stored.isFresh(at: Self.base + 50))
        #expect(!stored.isFresh(at: Self.base - 1))
    }

    // MARK: Validation

    @Test func validatorsAreSentBack() {
        let stored = response([field("ETag", "W/\"a\""), field("Last-Modified", Self.date(-5))])
        #expect(
            stored.validators == [
                field("If-None-Match", "W/\"a\""), field("If-Modified-Since", Self.date(-5)),
            ])
        #expect(response([field("ETag", "a"), field("Last-Modified", "x")]).validators.isEmpty)
        #expect(response([field("ETag", "\"a\u{1}\"")]).validators.isEmpty)
    }

    /// Sections 3.2 and 4.3.4.
    @Test func aValidationRenewsTheHead() throws {
        let stored = response([
            field("ETag", "\"a\""), field("Cache-Control", "max-age=1"), field("Age", "7"), field("X", "1"),
            field("X", "2"),
            field("Content-Type", "text/plain"), field("Content-Length", "3"), field("Y", "kept"),
        ])
        let head = ResponseHead(
            url: "http://a/", status: 304,
            headers: [
                field("etag", "W/\"a\""), field("Cache-Control", "max-age=9"), field("X", "3"),
                field("Content-Length", "0"), field("Content-Type", "text/html"), field("Connection", "close, x-hop"),
                field("X-Hop", "1"),
            ])
        let fresh = try #require(stored.freshened(by: head, requestTime: Self.base + 5, responseTime: Self.base + 6))
        #expect(fresh.headers.values(named: "x") == ["3"])
        #expect(fresh.headers.values(named: "y") == ["kept"])
        #expect(fresh.headers.values(named: "content-type") == ["text/plain"])
        #expect(fresh.headers.values(named: "content-length") == ["3"])
        #expect(fresh.headers.values(named: "age").isEmpty && fresh.headers.values(named: "connection").isEmpty)
        #expect(fresh.headers.values(named: "x-hop").isEmpty)
        #expect(fresh.lifetime == 9 && fresh.requestTime == Self.base + 5 && fresh.responseTime == Self.base + 6)
    }

    @Test func aValidationOfAnotherVersionIsNone() {
        let head = ResponseHead(url: "http://a/", status: 304, headers: [field("ETag", "\"b\"")])
        #expect(response([field("ETag", "\"a\"")]).freshened(by: head, requestTime: 0, responseTime: 0) == nil)
    }

    /// Section 4: the Age that a task gets is the current age.
    @Test func theHeadTellsTheAge() {
        let head = response([field("Age", "3"), field("X", "1")]).head(of: "http://a/", age: 12)
        #expect(head.values("age") == ["12"] && head.values("x") == ["1"] && head.cachedAge == 12)
    }
}
