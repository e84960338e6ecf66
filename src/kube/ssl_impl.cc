// The one place where Asio's TLS implementation is compiled (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/ssl/impl/src.hpp>
