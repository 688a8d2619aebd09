import TransferModel

/// How fast tasks of one origin begin after it answered 429 or 503 with a Retry-After (RFC 9110 section 10.2.3, RFC
/// 6585 section 4).
///
/// Until that time, nothing begins except one try per `longestSilence`. Then each second of good answers raises the
/// rate by one start a second, and a refusal halves it (additive increase, multiplicative decrease). The refusal of an
/// attempt that began before the last decrease does not halve it again. Times are milliseconds of the boot clock.
package struct OriginPace: Sendable, Hashable {
    /// Starts per second.
    package static let lowestRate = 1.0
    /// An origin that accepts this many a second needs no pace.
    package static let highestRate = 64.0
    /// A pace ends after this long without a refusal.
    package static let memory: Seconds = 600
    /// During a longer hold, one task per this interval tries the origin anyway, because one URL of an origin must not
    /// block the others for a day.
    package static let longestSilence: Seconds = 60

    private var heldUntil: Int64
    private var nextTry: Int64
    private var refusedAt: Int64
    private(set) package var rate = lowestRate
    /// Of two starts, the first goes to the task that failed least often: URLs that are always refused do not hold back
    /// the others, however urgent they are. The second goes to the task whose turn it is: a task that was refused once
    /// does not wait for all new ones.
    private(set) package var prefersUntried = true

    /// The first refusal.
    package init(retryAfter: Seconds, at now: ClockReading) {
        (refusedAt, heldUntil, nextTry) = (now.boot, now.boot, now.boot)
        refused(retryAfter: retryAfter, startedAt: now.boot, at: now)
    }

    /// The origin refuses an attempt that began at `startedAt`.
    package mutating func refused(retryAfter: Seconds?, startedAt: Int64, at now: ClockReading) {
        if let retryAfter {
            let hold = RetryAfter.clamp(retryAfter)
            heldUntil = max(heldUntil, now.boot + hold.milliseconds)
            nextTry = max(nextTry, now.boot + min(hold, Self.longestSilence).milliseconds)
        }
        guard startedAt >= refusedAt else { return }
        refusedAt = now.boot
        rate = max(Self.lowestRate, rate / 2)
    }

    /// - Parameter now: when the task was admitted. If that was before a refusal, the start adds nothing to the hold.
    package mutating func attemptStarted(at now: ClockReading) {
        guard now.boot >= nextTry else { return }
        prefersUntried.toggle()
        nextTry = min(max(now.boot + gap, heldUntil), now.boot + Self.longestSilence.milliseconds)
    }

    /// Between two starts, if nothing is held.
    private var gap: Int64 { Int64((1000 / rate).rounded(.up)) }

    /// The origin gives a good answer to an attempt that began at `startedAt`.
    package mutating func answered(startedAt: Int64, at now: ClockReading) {
        guard startedAt >= refusedAt else { return }
        if now.boot < heldUntil {
            // The hold was meant for one URL: the origin answers other requests.
            heldUntil = now.boot
            nextTry = min(nextTry, now.boot + gap)
        }
        rate += 1 / rate
    }

    /// A client wants a try now.
    package mutating func tryNow(at now: ClockReading) { nextTry = min(nextTry, now.boot) }

    /// When the next task may begin.
    package var nextStartAt: Int64 { nextTry }

    /// Until when the origin asked for silence; nil if only the rate holds tasks back.
    package func holdsUntil(at now: ClockReading) -> Int64? { now.boot < heldUntil ? heldUntil : nil }

    package func isOver(at now: ClockReading) -> Bool {
        rate >= Self.highestRate || now.boot - max(heldUntil, refusedAt) >= Self.memory.milliseconds
    }
}
