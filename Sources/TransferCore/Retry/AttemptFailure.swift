import TransferModel

/// Why an attempt ended without the file, classified for the machine.
package struct AttemptFailure: Error, Sendable, Hashable {
    package enum Disposition: Sendable, Hashable {
        /// Try again later; `after` is the server's Retry-After.
        case transient(after: Seconds?)
        /// Wait until the disk or the target is back.
        case disk
        /// Wait for the network.
        case network
        case permanent
    }
    package var error: TransferError
    package var disposition: Disposition
    /// Bytes arrived in this attempt beyond those held when it began.
    package var progressed: Bool
    /// Bytes held at its end. Only what lies beyond the furthest of all attempts resets the count of failures.
    package var held = ByteCount.zero
    /// The body was shorter than announced.
    @BoxedOptional package var shortEnd: ShortEnd?
    /// The redirect's target, if a client must decide about it.
    @BoxedOptional package var redirect: StandingRequest?
    /// The whole body of that redirect; nil if it is not here.
    @BoxedOptional package var redirectBody: [UInt8]?
    /// The body of an answer that is kept or streamed is not what its header says. A second time, that is final.
    package var isOfBody = false
    /// A server or proxy demands credentials; a user name and a password can answer it.
    @BoxedOptional package var challenge: ResponseHead?
    /// A client may be asked about what ended a TLS handshake.
    @BoxedOptional package var tls: TLSChallenge?

    package init(error: TransferError, disposition: Disposition, progressed: Bool = false) {
        self.error = error
        self.disposition = disposition
        self.progressed = progressed
    }
}
