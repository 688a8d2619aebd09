import CCurl
import CLinux

/// Inside its calls, libcurl waits for FTP's last answers (the 226 after a file, and the answer to QUIT) and for the
/// end of an SSH session. That can take a minute and more, and all transfers wait with it. Once a second, libcurl asks
/// whether to continue (CURLOPT_XFERINFOFUNCTION(3)).
extension Transfer {
    /// Nanoseconds that all transfers may wait for one server.
    private static let patience: Int64 = 1_500_000_000

    /// Called on entry and while libcurl waits. Returning true ends the transfer and its connection: the answer may
    /// still come, and would be taken for that to the next command.
    func hasWaitedTooLong(_ reactor: Reactor) -> Bool {
        let time = dld_monotonic_nanoseconds()
        if waitingIn != reactor.now {
            waitingIn = reactor.now
            waitingSince = time
        }
        guard time - waitingSince > Self.patience else { return false }
        if let easy { dld_easy_set_long(easy, CURLOPT_FORBID_REUSE, 1) }
        return true
    }
}

extension EasySetup {
    /// For protocols whose handlers wait inside libcurl.
    mutating func bePatientOnlySoLong(_ transfer: Transfer) {
        guard result == CURLE_OK else { return }
        result = dld_easy_set_progress_callback(easy, mayGoOn, Unmanaged.passUnretained(transfer).toOpaque())
    }
}

private let mayGoOn: dld_progress_callback = { context, _, _, _, _ in
    guard let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard let reactor = transfer.reactor else { return 0 }
    return transfer.hasWaitedTooLong(reactor) ? 1 : 0
}
