/// What both programs say of themselves.
package enum Product {
    package static let version = "0.2.0"
}
