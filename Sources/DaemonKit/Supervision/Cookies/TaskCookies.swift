import CurlEngine
import Threading
import TransferCore
import TransferModel

/// The cookies of one task while it runs, as its session's policy has them.
final class TaskCookies: CookieKeeping {
    private let jar: Guarded<CookieJar>
    private let policy: CookiePolicy
    private let url: String
    private let time: any TimeSource

    /// - Parameters:
    ///   - jar: what an earlier attempt left.
    ///   - url: the task's own.
    init(_ jar: CookieJar?, _ policy: CookiePolicy, url: String, time: any TimeSource) {
        self.jar = Guarded(jar ?? CookieJar(most: Bounds.cookiesOfTask))
        self.policy = policy
        self.url = url
        self.time = time
    }

    /// What the next attempt goes on with; nil if there is nothing.
    var leftover: CookieJar? { jar.withLock { $0.isEmpty ? nil : $0 } }

    func field(for request: @autoclosure () -> CookieRequest, without names: @autoclosure () -> Set<String>) -> String?
    {
        guard policy.sends, !jar.withLock({ $0.isEmpty }) else { return nil }
        let (request, names, now) = (request(), names(), time.reading().wall)
        return jar.withLock { $0.field(for: request, at: now, without: names) }
    }

    func receive(_ fields: [String], from url: CookieURL) {
        guard policy.takes(from: url.host, main: CookieURL(self.url)?.host ?? "") else { return }
        let now = time.reading().wall
        jar.withLock { jar in for field in fields { _ = jar.receive(field, from: url, at: now) } }
    }
}
